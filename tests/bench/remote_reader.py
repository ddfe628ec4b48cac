"""Reads a data set like a DataLoader: remote_reader.py LIST WORKERS SEED COMPUTE_MS DROP. LIST has one path a line; the
workers share a shuffled order batch by batch, and each reads its files one after another. Prints seconds and bytes."""
import multiprocessing
import os
import random
import sys
import time

BATCH = 32


def read(paths, compute, drop, results):
    total = 0
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        while part := os.read(fd, 1 << 20):
            total += len(part)
        if drop:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        if compute:
            time.sleep(compute)
    results.put(total)


def shares_of(paths, workers, seed):
    """What each worker reads, in order."""
    random.Random(seed).shuffle(paths)
    batches = [paths[i:i + BATCH] for i in range(0, len(paths), BATCH)]
    return [[path for batch in batches[worker::workers] for path in batch] for worker in range(workers)]


def main():
    listed, workers, seed, compute, drop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5] == "1"
    with open(listed) as file:
        paths = file.read().splitlines()
    results = multiprocessing.Queue()
    shares = shares_of(paths, workers, seed)
    processes = [multiprocessing.Process(target=read, args=(share, compute / 1000, drop, results)) for share in shares]
    began = time.monotonic()
    for process in processes:
        process.start()
    total = sum(results.get() for _ in processes)
    for process in processes:
        process.join()
        assert process.exitcode == 0
    print(time.monotonic() - began, total)


if __name__ == "__main__":
    main()
