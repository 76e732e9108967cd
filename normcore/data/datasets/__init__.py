"""Catalogue of data sets: files with digests and official homes, citations, descriptions. Torch-free.

One module for each family of data sets; a new data set is added to ``_ALL``.
"""

from collections.abc import Mapping

from normcore.data.datasets.binarized_mnist import BINARIZED_MNIST, MNIST_BITS
from normcore.data.datasets.captions import COCO_KARPATHY, FLICKR8K_1000
from normcore.data.datasets.cifar10 import CIFAR10, CIFAR10_SUBSET
from normcore.data.datasets.cnn import CNN_QUESTIONS, CNN_SAMPLE
from normcore.data.datasets.dataset import DataFile, Dataset
from normcore.data.datasets.gutenberg import GUTENBERG_BOOKS
from normcore.data.datasets.iam_ondb import IAM_ONDB, IAM_ONDB_PACKED
from normcore.data.datasets.mnist import MNIST
from normcore.data.datasets.package_data import DIGITS, PYDOC
from normcore.data.datasets.ptb import PTB
from normcore.data.datasets.sentences import BOOKCORPUS, SENTENCE_EVAL, WORD2VEC
from normcore.data.datasets.text8 import TEXT8, TEXT8_PREFIX

__all__ = ["DATASETS", "DataFile", "Dataset"]

_ALL = (
    DIGITS,
    PYDOC,
    MNIST,
    BINARIZED_MNIST,
    MNIST_BITS,
    CIFAR10,
    CIFAR10_SUBSET,
    PTB,
    TEXT8,
    TEXT8_PREFIX,
    IAM_ONDB,
    IAM_ONDB_PACKED,
    BOOKCORPUS,
    GUTENBERG_BOOKS,
    SENTENCE_EVAL,
    WORD2VEC,
    COCO_KARPATHY,
    FLICKR8K_1000,
    CNN_QUESTIONS,
    CNN_SAMPLE,
)
DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
