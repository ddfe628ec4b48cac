"""What the remote benchmark's rows are held against, and how both are printed."""
import sys

LATENCY_MS, BANDWIDTH = 10, 100_000_000
WORKERS = 4
AT_ONCE = 32  # requests of winnow's under way; the others fetch when a reader asks
IN_MEMORY = "winnow in memory"
DECLARED, COLD_DECLARED, WARM_DECLARED = "order declared", "cold, order declared", "warm, order declared"
BINS = 64  # of sizes, in the model


def latency_bound(what, files):
    return files * LATENCY_MS / 1000 / (AT_ONCE if what.startswith("winnow") else WORKERS)


def best_without_order(sizes, held, window_bytes, compute, disk_s):
    """Seconds that an epoch takes at best if nobody knows what is read next, by a model in small steps: readers come upon
    what waits for them as often as chance has it, and wait a whole request else; all the rest of the origin's bandwidth
    fetches ahead, the smallest files first, at most `window_bytes`; reading what is there takes the disk's own time, of
    which all files take `disk_s`. `held` files of all sizes are there at the beginning."""
    step = 0.0005
    sizes = sorted(sizes)
    bins = [sizes[len(sizes) * i // BINS:len(sizes) * (i + 1) // BINS] for i in range(BINS)]
    mean = [sum(some) / len(some) for some in bins]
    unread = [float(len(some)) for some in bins]
    ahead = [len(some) * held / len(sizes) for some in bins]
    wait = LATENCY_MS / 1000 + sum(sizes) / len(sizes) / BANDWIDTH
    from_disk = disk_s * WORKERS / len(sizes)
    now = 0.0
    while (left := sum(unread)) > 0.5:
        ready = min(1.0, sum(ahead) / left)
        pause = (1 - ready) * wait + ready * from_disk + compute / 1000
        share = min(1.0, WORKERS * step / pause / left) if pause > 0 else 1.0
        asked_bytes = sum((some - there) * share * size for some, there, size in zip(unread, ahead, mean))
        unread = [some * (1 - share) for some in unread]
        ahead = [there * (1 - share) for there in ahead]
        room = min(BANDWIDTH * step - asked_bytes, window_bytes - sum(map(lambda n, size: n * size, ahead, mean)))
        for i, size in enumerate(mean):
            more = max(0.0, min(unread[i] - ahead[i], room / size))
            ahead[i] += more
            room -= more * size
        now += step
    return now


def find(rows, what, cache, epoch_name, compute):
    """The median one, by its time."""
    same = [r for r in rows if (r["what"], r["cache"], r["epoch"], r["compute"]) == (what, cache, epoch_name, compute)]
    return sorted(same, key=lambda row: row["seconds"])[len(same) // 2] if same else None


def targets(rows, sizes, disk_s, share):
    """What was to be reached, and for what could not be checked, why."""
    checked, unchecked = [], []
    files, data_bytes = len(sizes), sum(sizes)
    bound_s = data_bytes / BANDWIDTH

    def target(name, value, limit, at_least, best=None):
        checked.append((name, value, limit, at_least, value >= limit if at_least else value <= limit, best))

    def faster(name, theirs, ours, limit, bound, best=None):
        """Of a compute that alone takes too long, nobody can be so much faster."""
        if ours["compute"] > 0 and theirs["seconds"] / bound < limit:
            unchecked.append(f"{name}: not checked, since {bound:.1f} s of compute and origin bound all, "
                             f"{theirs['seconds'] / bound:.1f} x at most; measured {theirs['seconds'] / ours['seconds']:.1f} x")
        else:
            target(name, theirs["seconds"] / ours["seconds"], limit, True, best)

    for compute in sorted({row["compute"] for row in rows}):
        ours = find(rows, "winnow", 1.0, "cold", compute)
        warm = find(rows, "winnow", 1.0, "warm", compute)
        warm_declared = find(rows, "winnow", 1.0, WARM_DECLARED, compute)
        compute_s = files * compute / 1000 / WORKERS
        cold_bound = max(bound_s, latency_bound("winnow", files), compute_s)
        for what, hit_s in (("winnow", disk_s), (IN_MEMORY, 0)):
            if cold := find(rows, what, 1.0, "cold", compute):
                target(f"cold, {what}, compute {compute}: x the bound of {cold_bound:.1f} s", cold["seconds"] / cold_bound,
                       1.25, False, best_without_order(sizes, 0, data_bytes, compute, hit_s) / cold_bound)
        if declared := find(rows, "winnow", 1.0, COLD_DECLARED, compute):
            target(f"cold, order declared, compute {compute}: x the bound", declared["seconds"] / cold_bound, 1.25, False)
        for peer in ("rclone", "s3fs"):
            theirs, theirs_warm = find(rows, peer, 1.0, "cold", compute), find(rows, peer, 1.0, "warm", compute)
            if ours and theirs:
                faster(f"cold, compute {compute}: x {peer}", theirs, ours, 6, cold_bound)
                faster(f"warm from disk, compute {compute}: x {peer}", theirs_warm, warm, 10, max(compute_s, 0.001),
                       theirs_warm["seconds"] / max(compute_s, disk_s))
                faster(f"warm from disk, order declared, compute {compute}: x {peer}", theirs_warm, warm_declared, 10,
                       max(compute_s, 0.001))
        peers = [find(rows, peer, share, "third", compute) for peer in ("rclone", "s3fs")]
        peers = [row["seconds"] for row in peers if row]
        for what in ("winnow", IN_MEMORY) if peers else ():
            if part := find(rows, what, share, "third", compute):
                held = part["held_before"]
                window, hit_s = (data_bytes * share, 0) if what == IN_MEMORY else (held / files * data_bytes, disk_s)
                best = best_without_order(sizes, held, window, compute, hit_s)
                target(f"{share:.0%} cache, {what}, compute {compute}: x the better of both",
                       part["seconds"] / min(peers), 0.35, False, best / min(peers))
            if declared := find(rows, what, share, DECLARED, compute):
                target(f"{share:.0%} cache, {what}, order declared, compute {compute}: x the better of both",
                       declared["seconds"] / min(peers), 0.35, False)
    for row in rows:
        if not row["what"].startswith("winnow"):
            continue
        name = f"{row['what']} {row['cache']:.0%} {row['epoch']} compute {row['compute']}"
        allowed = (1 - row["held_before"] / files) * files + 0.01 * files
        target(f"{name}: GETs", row["gets"], allowed, False)
        target(f"{name}: disk MB", row["disk_mb"], row["disk_limit_mb"], False)
        target(f"{name}: RSS MB", row["rss_mb"], 150, False)
    return checked, unchecked


def print_table(rows, sizes, disk_s, share):
    files, data_bytes = len(sizes), sum(sizes)
    bound_s = data_bytes / BANDWIDTH
    print(f"\n{files} files, {data_bytes / 1e6:.0f} MB; origin: {LATENCY_MS} ms, {BANDWIDTH / 1e6:.0f} MB/s; {WORKERS} readers. "
          f"Cache: disk and memory together, of the data's bytes; winnow's index and headers come out of it, so 100 % does\n"
          f"not hold all. s3fs has no limit for its cache and may use more than it is given: see its disk. "
          f"Bounds of a cold epoch: all bytes at the origin's bandwidth, and all requests at its latency,\n"
          f"{WORKERS} at a time for who fetches when a reader asks, {AT_ONCE} for winnow. {IN_MEMORY}: all of its cache is page cache, "
          "which is told instead of its disk.\n"
          "GETs include those made between the epoch before and this one, in brackets.\n"
          f"The disk itself takes {disk_s:.2f} s for as many direct reads of the same sizes by {WORKERS} processes.\n")
    print("| | cache | epoch | compute | s | bandwidth bound s | latency bound s | GETs | held before | disk MB | RSS MB | stolen |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        held = "-" if row["held_before"] is None else row["held_before"]
        is_cold = row["epoch"] in ("cold", COLD_DECLARED, "first", "each")
        bounds = f"{bound_s:.1f} | {latency_bound(row['what'], files):.1f}" if is_cold else "- | -"
        print(f"| {row['what']} | {row['cache']:.0%} | {row['epoch']} | {row['compute']} ms | {row['seconds']:.1f} | {bounds} | "
              f"{row['gets']} ({row['idle_gets']}) | {held} | {row['disk_mb']:.0f} | {row['rss_mb']:.0f} | "
              f"{row['stolen']:.0%} |")
    print("\nBest: what can be had at all: of warm epochs, by the disk alone, if each reader reads it when it needs it; else by a model of the origin, the disk and the readers, if "
          "nobody knows what is read next\nand the smallest files are fetched first.\n\n"
          "| target | measured | limit | | best |\n|---|---|---|---|---|")
    checked, unchecked = targets(rows, sizes, disk_s, share)
    for name, value, limit, at_least, reached, best in checked:
        print(f"| {name} | {value:.2f} | {'>=' if at_least else '<='} {limit:.2f} | {'reached' if reached else 'MISSED'} | "
              f"{'' if best is None else f'{best:.2f}'} |")
    print("", *unchecked, sep="\n")
    sys.exit(0 if all(reached for *_, reached, _ in checked) else 1)
