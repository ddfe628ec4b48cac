"""How long the disk itself takes for what readers read of it: as many direct reads of the same sizes, at random places of
one file, by as many processes. Nothing that reads a file when it is asked for can be faster; who knows what will be asked
for can, with more reads under way."""
import mmap
import multiprocessing
import os
import random
import time

ALIGNMENT = 4096


def rounded(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


def read(path, sizes, seed):
    chance = random.Random(seed)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    places = (os.fstat(fd).st_size - rounded(max(sizes))) // ALIGNMENT
    memory = memoryview(mmap.mmap(-1, rounded(max(sizes))))
    for size in sizes:
        os.preadv(fd, [memory[:rounded(size)]], chance.randrange(places) * ALIGNMENT)
    os.close(fd)


def seconds(folder, sizes, workers):
    path = os.path.join(folder, "raw")
    with open(path, "wb") as file:
        block = os.urandom(1 << 20)
        for _ in range(sum(sizes) // len(block) + 1):
            file.write(block)
        os.fsync(file.fileno())
    processes = [multiprocessing.Process(target=read, args=(path, sizes[i::workers], i)) for i in range(workers)]
    began = time.monotonic()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    took = time.monotonic() - began
    os.unlink(path)
    return took
