"""Data sets of images with captions."""

from normcore.data.datasets.dataset import DataFile, Dataset

COCO_KARPATHY = Dataset(
    name="coco_karpathy",
    title="COCO captions in Karpathy's splits, with image features",
    citation="Lin et al. 2014, arXiv:1405.0312; Karpathy and Fei-Fei 2015, arXiv:1412.2306",
    licence="CC BY 4.0 (captions)",
    homepage="https://cs.stanford.edu/people/karpathy/deepimagesent/",
    description="Get the JSON file from the homepage. The features have a row for each image of the JSON file: the mean"
    " activation of VGG-19's fc7 over ten crops; examples/features converts them. No digests are published; those of"
    " your files are recorded.",
    files=(DataFile("dataset_coco.json"), DataFile("coco_vgg19_10crop.npy")),
)
FLICKR8K_1000 = Dataset(
    name="flickr8k_1000",
    title="1,000 images of Flickr8k: captions, and a network's class scores",
    citation="Hodosh, Young and Hockenmaier 2013, JAIR 47:853-899",
    licence="research; cite the paper",
    homepage="https://hockenmaier.cs.illinois.edu/8k-pictures.html",
    description="800 images train, 100 validate, 100 test. All are official test images, as features exist only for"
    " these. There is no published result on this split.",
    files=(
        DataFile(
            "flickr8k_test1000_xception_probs.npz",
            "212e598eb25d36cfaaceb16949aa2774c4151cfd0e74ad3e1eb36b54a36e9ff9",
            3_670_455,
        ),
        DataFile("Flickr8k.token.txt", "1e1f3a371ba1a1bf742e6930521c037e046b2bf3fcc2390ba8405e0301ed7689", 3_395_237),
        DataFile(
            "Flickr_8k.testImages.txt", "c0924146c131458ceba45da59670fe9520eadce1e5cafffa16a817672a9b1f17", 25_775
        ),
    ),
    stored_in="flickr8k",
)
