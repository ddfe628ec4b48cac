"""Makes a small image-classification data set: OUT/train/<class>/<number>.png, seeded."""

import pathlib
import random
import struct
import sys
import zlib

CLASSES = ("circle", "cross", "ring", "square", "stripe")
IMAGES_PER_CLASS = 400
SIDE = 32


def inside(shape, x, y):
    """Whether the pixel at (x, y), both in [-1, 1], belongs to the shape."""
    distance = x * x + y * y
    return {
        "circle": distance < 0.4,
        "cross": min(abs(x), abs(y)) < 0.2,
        "ring": 0.3 < distance < 0.7,
        "square": max(abs(x), abs(y)) < 0.5,
        "stripe": int((x + 1) * 4) % 2 == 0,
    }[shape]


def png(pixels, side):
    """An 8-bit RGB PNG of rows of (r, g, b) bytes."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes(pixels[y * side * 3 : (y + 1) * side * 3]) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def image(shape, rng):
    front = [rng.randrange(128, 256) for _ in range(3)]
    back = [rng.randrange(0, 128) for _ in range(3)]
    dx, dy = rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2)
    pixels = bytearray()
    for y in range(SIDE):
        for x in range(SIDE):
            belongs = inside(shape, 2 * x / SIDE - 1 + dx, 2 * y / SIDE - 1 + dy)
            pixels += bytes(c + rng.randrange(-8, 8) & 255 for c in (front if belongs else back))
    return png(pixels, SIDE)


def main():
    out = pathlib.Path(sys.argv[1])
    rng = random.Random(1)
    for shape in CLASSES:
        folder = out / "train" / shape
        folder.mkdir(parents=True)
        originals = [image(shape, rng) for _ in range(40)]
        for number in range(IMAGES_PER_CLASS):
            (folder / f"{number:05}.png").write_bytes(originals[number % len(originals)])


if __name__ == "__main__":
    main()
