"""The Long Range Graph Benchmark: five data sets of many graphs."""

from __future__ import annotations

from geco.data.registry.spec import Layout, Remote, Sizes, Spec

__all__ = ["LRGB"]

_LRGB = "Dwivedi et al., Long Range Graph Benchmark, 2022, arXiv:2206.08164"
_BUDGET = "The benchmark allows models of about 500,000 parameters."
_PICKLES = Layout("lrgb", ("train.pickle", "val.pickle", "test.pickle"))
_TENSORS = Layout("lrgb", ("train.pt", "val.pt", "test.pt"))


def _box(file: str, key: str, sha256: str | None = None, md5: str | None = None, unpack: bool = False) -> Remote:
    return Remote(f"https://www.dropbox.com/s/{key}/{file}?dl=1", file, sha256, md5, unpack=unpack)


LRGB = (
    Spec(
        name="pascalvoc-sp",
        title="PascalVOC-SP",
        licence="Pascal VOC 2011 (custom; respects Flickr's terms of use)",
        level="node",
        target="class",
        num_targets=21,
        metric="macro-f1",
        better="higher",
        split="LRGB's, over graphs",
        sizes=Sizes(11_355, 479.4, 2_710.5, 14, 21),
        layouts=(_PICKLES,),
        folders=("pascalvoc-sp/raw", "PascalVOC-SP", "voc_superpixels_edge_wt_region_boundary"),
        remotes=(_box("pascalvocsp.zip", "8x722ai272wqwl4", unpack=True),),
        paper=0.4210,
        source=_LRGB,
        note=_BUDGET,
    ),
    Spec(
        name="coco-sp",
        title="COCO-SP",
        licence="CC BY 4.0",
        level="node",
        target="class",
        num_targets=81,
        metric="macro-f1",
        better="higher",
        split="LRGB's, over graphs",
        sizes=Sizes(123_286, 476.9, 2_693.7, 14, 81),
        layouts=(_PICKLES,),
        folders=("coco-sp/raw", "COCO-SP", "coco_superpixels_edge_wt_region_boundary"),
        remotes=(_box("cocosp.zip", "r6ihg1f4pmyjjy0", unpack=True),),
        paper=0.3320,
        source=_LRGB,
        note=_BUDGET,
    ),
    Spec(
        name="peptides-func",
        title="Peptides-func",
        licence="CC BY-NC 4.0",
        level="graph",
        target="labels",
        num_targets=10,
        metric="ap",
        better="higher",
        split="LRGB's, random, stratified, 70/15/15 %",
        sizes=Sizes(15_535, 150.9, 307.3, 9),
        layouts=(
            _TENSORS,
            Layout("peptides_csv", ("peptide_multi_class_dataset.csv.gz", "splits_random_stratified_peptide.pickle")),
        ),
        folders=("peptides-func/raw", "Peptides-func", "peptidesfunc", "peptides-functional"),
        remotes=(
            _box(
                "peptide_multi_class_dataset.csv.gz",
                "ol2v01usvaxbsr8",
                "e314f7dfb1ac46ef83fe5f5aa4fe502ad4527da633b64e6b997cb0c452511de3",
                "701eb743e899f4d793f0e13c8fa5a1b4",
            ),
            _box(
                "splits_random_stratified_peptide.pickle",
                "j4zcnx2eipuo0xz",
                "4573079852cce8867ad2d734c5dd22d77538bbe9f628223a8d4b3b531f6fffd0",
                "5a0114bdadc80b94fc7ae974f13ef061",
            ),
        ),
        paper=0.6975,
        source=_LRGB,
        note=_BUDGET,
    ),
    Spec(
        name="peptides-struct",
        title="Peptides-struct",
        licence="CC BY-NC 4.0",
        level="graph",
        target="values",
        num_targets=11,
        metric="mae",
        better="lower",
        split="LRGB's, random, stratified, 70/15/15 %",
        sizes=Sizes(15_535, 150.9, 307.3, 9),
        layouts=(
            _TENSORS,
            Layout(
                "peptides_csv",
                ("peptide_structure_dataset.csv.gz", "splits_random_stratified_peptide_structure.pickle"),
            ),
        ),
        folders=("peptides-struct/raw", "Peptides-struct", "peptidesstruct", "peptides-structural"),
        remotes=(
            _box("peptide_structure_dataset.csv.gz", "464u3303eu2u4zp", md5="9786061a34298a0684150f2e4ff13f47"),
            _box(
                "splits_random_stratified_peptide_structure.pickle",
                "9dfifzft1hqgow6",
                md5="5a0114bdadc80b94fc7ae974f13ef061",
            ),
        ),
        paper=0.2464,
        source=_LRGB,
        note=f"Each value is scaled to mean 0 and deviation 1 over all graphs, as published. {_BUDGET}",
    ),
    Spec(
        name="pcqm-contact",
        title="PCQM-Contact",
        licence="CC BY 4.0",
        level="link",
        target="labels",
        num_targets=1,
        metric="mrr",
        better="higher",
        split="LRGB's, over graphs",
        sizes=Sizes(529_434, 30.1, 61.0, 9),  # LRGB itself says 61.09 edges
        layouts=(_TENSORS,),
        folders=("pcqm-contact/raw", "PCQM-Contact", "pcqmcontact"),
        remotes=(_box("pcqmcontact.zip", "qdag867u6h6i60y", unpack=True),),
        paper=0.3526,
        source=_LRGB,
        note=_BUDGET,
    ),
)
