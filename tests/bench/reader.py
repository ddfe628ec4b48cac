"""Reads a list of files with Python's own open(path, "rb").read(), in a shuffled order, by several processes.

The same arguments, output and exit codes as bench_reader (reader.cpp), without --digest.
"""

import argparse
import json
import multiprocessing
import random
import sys
import time


def read_share(share, epochs, gate, total, cpu_seconds):
    got = 0
    cpu = 0
    try:
        for epoch in range(epochs):
            paths = share(epoch)
            gate.wait()
            began = time.process_time()
            for path in paths:
                got += len(open(path, "rb").read())
            cpu += time.process_time() - began
            gate.wait()
    except OSError:
        gate.abort()  # the others need not wait for this one
        raise
    with total.get_lock():
        total.value += got
        cpu_seconds.value += cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("list")
    parser.add_argument("bytes", type=int)
    parser.add_argument("--threads", type=int, default=2, help="processes, in fact")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with open(options.list) as names:
        paths = [options.root + "/" + name.rstrip("\n") for name in names]

    orders = []
    for epoch in range(options.epochs):
        order = list(paths)
        random.Random(options.seed * 1000 + epoch).shuffle(order)
        orders.append(order)
    fork = multiprocessing.get_context("fork")
    gate = fork.Barrier(options.threads + 1)
    total = fork.Value("Q", 0)
    cpu_seconds = fork.Value("d", 0)
    readers = [fork.Process(target=read_share,
                            args=(lambda epoch, i=i: orders[epoch][i::options.threads], options.epochs, gate, total,
                                  cpu_seconds))
               for i in range(options.threads)]
    for reader in readers:
        reader.start()
    seconds = []
    for _ in range(options.epochs):
        gate.wait(timeout=600)
        began = time.perf_counter()
        gate.wait(timeout=600)
        seconds.append(time.perf_counter() - began)
    for reader in readers:
        reader.join()
    if total.value != options.bytes * options.epochs:
        sys.exit(f"reader.py: read {total.value} bytes under {options.root}, "
                 f"expected {options.bytes * options.epochs}")
    print(json.dumps({"files": len(paths), "digest": "", "cpu_seconds": cpu_seconds.value, "seconds": seconds}))


if __name__ == "__main__":
    main()
