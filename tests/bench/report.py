"""The targets of the mount, and the table that is printed."""

# What counts as no request per file: the kernel may take a few pages away at any time, and they are read again.
NONE = 0.005


def kinds_text(requests):
    """All but IOCTL, the frequent ones first; fewer than one in a thousand files are shown as a trace."""
    named = sorted(((share, kind) for kind, share in requests.items() if kind != "ioctl"), reverse=True)
    return " ".join(f"{kind} {share:.2f}" if share >= 0.005 else f"{kind} <0.01" for share, kind in named)


def without_ioctl(requests):
    return sum(share for kind, share in requests.items() if kind != "ioctl")


def warm_row(result, reader, data, row):
    for found in result["warm"]:
        if found["reader"].startswith(reader) and (found["data"], found["row"]) == (data, row):
            return found
    return None


def check_targets(result):
    targets = []

    def target(name, value, limit, at_least):
        reached = value >= limit if at_least else value <= limit
        targets.append({"target": name, "measured": value, "limit": limit, "reached": bool(reached),
                        "sign": ">=" if at_least else "<="})

    for data in ("small", "large"):
        for row in ("tracked", "untracked"):
            cpp = warm_row(result, "C++", data, "winnow " + row)
            python = warm_row(result, "Python", data, "winnow " + row)
            target(f"warm, {data}, {row}: requests per file", sum(cpp["requests_per_file"].values()), NONE, False)
            target(f"warm, {data}, {row}, Python: requests per file beside IOCTL",
                   without_ioctl(python["requests_per_file"]), NONE, False)
            target(f"warm, {data}, {row}, Python: IOCTL per file",
                   python["requests_per_file"].get("ioctl", 0), 1 + NONE, False)
        for row, limit in (("untracked", 0.8 if data == "small" else 0.65), ("tracked", 0.45)):
            target(f"{row}, {data}: x native", warm_row(result, "C++", data, "winnow " + row)["x_native"], limit, True)
        rclone = warm_row(result, "C++", data, "rclone")
        if rclone:
            for row in ("tracked", "untracked"):
                ours = warm_row(result, "C++", data, "winnow " + row)
                target(f"{row}, {data}: x rclone", ours["files_per_s"] / rclone["files_per_s"], 30, True)
    for first in result["first_epoch"]:
        if first["data"] == "small" and first["row"] == "winnow tracked":
            target("first epoch after a listing: requests per small file",
                   sum(first["requests_per_file"].values()), 1.1, False)
    found = result["million"].get("summary")
    if found:
        target("1,000,000 files: seconds until the mount answers", found["answers_s"], 2, False)
        target("1,000,000 files: RSS in MB", found["rss_mb"], 200, False)
        target("1,000,000 files: second find x native", found["second_find_x_native"], 1, True)
        target("1,000,000 files: first find x native warm", found["first_find_x_native"], 0.1, True)
    return targets


def print_table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for number, row in enumerate([head, *rows]):
        cells = [str(cell).ljust(width) if i < 3 or i == len(head) - 1 else str(cell).rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print()


def number(value, form):
    return "–" if value is None else format(value, form)


def print_warm(result):
    print("Warm epochs, medians of the rounds. Spread: (max - min) / median. CPU µs: reader and daemon, per file,\n"
          "which other work on the machine changes less than files/s. CPU s: the daemon's, per epoch.\n")
    rows = []
    for row in result["warm"]:
        requests = row.get("requests_per_file")
        low, high = row["x_native_range"]
        rows.append([row["reader"], row["data"], row["row"], f"{row['files_per_s']:,.0f}", f"{row['spread']:.0%}",
                     f"{row['x_native']:.3f}", f"{low:.2f}–{high:.2f}",
                     "–" if requests is None else f"{without_ioctl(requests):.3f}",
                     "–" if requests is None else f"{requests.get('ioctl', 0):.3f}",
                     f"{row['cpu_us_per_file']:.1f}", number(row.get("cpu_s"), ".3f"), number(row.get("rss_mb"), ".0f"),
                     number(row.get("opens_seen"), ".2f"), number(row.get("lost_events"), "d"),
                     "" if requests is None else kinds_text(requests)])
    print_table(["reader", "files", "filesystem", "files/s", "spread", "x native", "range", "req/file", "IOCTL/file",
                 "CPU µs", "CPU s", "RSS MB", "opens seen", "overflows", "by kind"], rows)


def print_first(result):
    print("First epoch after a listing (C++ reader)\n")
    rows = [[row["row"], row["data"], "", f"{row['files_per_s']:,.0f}",
             f"{sum(row['requests_per_file'].values()):.3f}", f"{row['cpu_s']:.3f}", f"{row['rss_mb']:.0f}",
             kinds_text(row["requests_per_file"])] for row in result["first_epoch"]]
    print_table(["filesystem", "files", "", "files/s", "req/file", "CPU s", "RSS MB", "by kind"], rows)


def print_million(found):
    if "skipped" in found:
        print(f"1,000,000 files: skipped ({found['skipped']})\n")
        return
    print(f"{found['files']:,} files; first mount, with the scan: {found['snapshot_s']:.1f} s, then "
          f"{found['rss_after_snapshot']['rss_mb']:.0f} MB RSS (at most {found['rss_after_snapshot']['peak_mb']:.0f}); "
          f"saved snapshot {found['snapshot_mb']:.0f} MB\n")
    rows = []
    for number_, cycle in enumerate(found["cycles"], 1):
        memory = " / ".join(f"{cycle[when]['rss_mb']:.0f} ({cycle[when]['anonymous_mb']:.0f})"
                            for when in ("rss_after_mount", "rss_after_first_find", "rss_after_finds"))
        kernel = cycle.get("kernel_mb")
        rows.append([number_, f"{cycle['answers_s']:.2f}", memory,
                     "–" if not kernel else f"{kernel['fuse_inode']:.0f} + {kernel['dentry']:.0f}",
                     f"{cycle['first_find_s']:.2f}", " ".join(f"{s:.2f}" for s in cycle["second_find_s"]),
                     " ".join(f"{s:.2f}" for s in cycle["native_find_s"]), f"{cycle['unmount_s']:.1f}"])
    print_table(["cycle", "answers s", "RSS (anonymous) MB: mounted / find / finds", "kernel inodes + names MB",
                 "1st find s", "later finds s", "native finds s", "unmount s"], rows)
    print("The first cycle reads the snapshot from the disk, the others from the page cache.\n")


def print_report(result):
    machine = result["machine"]
    print(f"kernel {machine['kernel']}, {machine['cpus']} CPUs, Python {machine['python']}, load "
          f"{machine['load_before']:.1f} before and {machine['load_after']:.1f} after\n")
    print_warm(result)
    print(f"Pages that the kernel took away and somebody on this machine read again meanwhile: "
          f"{machine['refaulted_pages']:,}\n")
    if not result["rclone"]:
        print("rclone is not installed: its rows are missing\n")
    print_first(result)
    print_million(result["million"])
    print("Targets\n")
    print_table(["", "target", "measured"],
                [["reached" if target["reached"] else "MISSED",
                  f"{target['target']} {target['sign']} {target['limit']:g}",
                  f"{target['measured']:.4g}"] for target in result["targets"]])
