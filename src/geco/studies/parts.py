"""What each part of GECO gives: ``python -m geco.studies.parts --data amazon-photo --parts filter-mean
filter-windows``.

Variants of one network that differ in flags only: the global block off, a mean, slow waves, windows or the paper's
filter; the node order, under windows, which can tell one from another; the number of convolutions K; and the local
block (LCB) beside weighted GNNs, each alone and with GECO. Everything else is as `geco train` has it by default for the
data set. ``--table`` prints what the records in results/parts hold and writes results/parts.md.
"""

from __future__ import annotations

from geco.studies.variants import Budget, Settings, Study
from geco.studies.variants import main as run

__all__ = ["STUDY", "main"]

VARIANTS: dict[str, Settings] = {
    "shipped": {},
    **{f"filter-{name}": {"model.filter": name} for name in ("none", "mean", "waves", "windows", "paper")},
    "filter-before": {"model.filter": "waves", "model.filter_gain": "mean"},
    **{
        f"order-{name}": {"model.filter": "windows", "model.permutation": name}
        for name in ("natural", "static", "dynamic", "structure")
    },
    **{f"k-{order}": {"model.order": order} for order in (1, 2, 3)},
    **{
        f"{local}-{mixer}": {"model.name": "hybrid", "model.local": local, "model.mixer": mixer}
        for local in ("none", "gcn", "gatedgcn")
        for mixer in ("geco", "none")
        if (local, mixer) != ("none", "none")
    },
}
DATA = {  # epochs are short: what is compared is the variants
    "amazon-photo": Budget("amazon-photo", 60),
    "amazon-computers": Budget("amazon-computers", 60),
    "coauthor-cs": Budget("coauthor-cs", 40),
    "tolokers": Budget("tolokers", 60, "A seed takes the split of its number."),
    "cora": Budget("cora", 60, "Defaults of `geco train`."),
    "pubmed": Budget("pubmed"),
    "wordnet": Budget(
        "wordnet",
        20,
        "Defaults of `geco train`. The file's node order follows the classes: order-natural gives them away.",
    ),
    "peptides-func": Budget("peptides-func-small", 15),
    "ogbg-molhiv": Budget("ogbg-molhiv-small", 8, "A hybrid with GatedGCN; validation barely ranks models here."),
    "echo": Budget("echo", 0, "Chance is 0.125."),
}
TEXT = """# What each part gives

Written by `python -m geco.studies.parts --table` from the records in [parts/](parts), which hold command, commit,
versions, all settings and every run. Variants differ in flags only and are trained by the engine of `geco train`;
`shipped` has no flag. Mean ± sample standard deviation (number of seeds). `filter-*` keep the data set's node order
(`filter-before` is that of GECO until 2026-11-18), `order-*` have windows, `k-*` change K, `<local>-<mixer>` are
hybrids: a GNN beside GECO (`geco`) or alone (`none`); `none-geco` is a hybrid's layers with GECO's own LCB only.
"""
STUDY = Study("geco.studies.parts", TEXT, VARIANTS, DATA)


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    run(STUDY, __doc__, arguments)


if __name__ == "__main__":
    main()
