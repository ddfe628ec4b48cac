"""One epoch over an image folder, as a training script would read it: ROOT/<class>/<image>, shuffled.

Knows nothing of Winnow. Prints the number of images and the seconds it took.
"""

import os
import random
import sys
import time


def image_folder(root):
    """(path, class index) of every image, as torchvision's ImageFolder lists them."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    return [
        (os.path.join(root, name, image), index)
        for index, name in enumerate(classes)
        for image in sorted(os.listdir(os.path.join(root, name)))
    ]


def main():
    samples = image_folder(sys.argv[1])
    random.Random(sys.argv[2]).shuffle(samples)
    began = time.perf_counter()
    for path, _ in samples:
        with open(path, "rb") as image:
            assert image.read().startswith(b"\x89PNG"), path
    print(len(samples), time.perf_counter() - began)


if __name__ == "__main__":
    main()
