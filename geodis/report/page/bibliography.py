"""The papers whose methods a report uses, as BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

NEURIPS = "Advances in Neural Information Processing Systems"
ICML = "International Conference on Machine Learning"
ICLR = "International Conference on Learning Representations"
# Key -> authors, title, where, year.
PAPERS: dict[str, tuple[str, str, str, int]] = {
    "pfau2020": (
        "Pfau, David and Higgins, Irina and Botev, Aleksandar and Racani{\\`e}re, S{\\'e}bastien",
        "Disentangling by Subspace Diffusion", NEURIPS, 2020),
    "levina2004": (
        "Levina, Elizaveta and Bickel, Peter J.",
        "Maximum Likelihood Estimation of Intrinsic Dimension", NEURIPS, 2004),
    "facco2017": (
        "Facco, Elena and d'Errico, Maria and Rodriguez, Alex and Laio, Alessandro",
        "Estimating the intrinsic dimension of datasets by a minimal neighborhood information",
        "Scientific Reports", 2017),
    "desilva2004": (
        "de Silva, Vin and Tenenbaum, Joshua B.",
        "Sparse multidimensional scaling using landmark points",
        "Technical report, Stanford University", 2004),
    "sorkine2007": (
        "Sorkine, Olga and Alexa, Marc", "As-Rigid-As-Possible Surface Modeling",
        "Symposium on Geometry Processing", 2007),
    "locatello2019": (
        "Locatello, Francesco and Bauer, Stefan and Lucic, Mario and R{\\\"a}tsch, Gunnar and "
        "Gelly, Sylvain and Sch{\\\"o}lkopf, Bernhard and Bachem, Olivier",
        "Challenging Common Assumptions in the Unsupervised Learning of Disentangled "
        "Representations", ICML, 2019),
    "michlo2022": (
        "Michlo, Nathan",
        "Disentanglement using {VAEs} resembles distance learning and requires overlapping data",
        "Master's thesis, University of the Witwatersrand", 2022),
    "chen2018": (
        "Chen, Ricky T. Q. and Li, Xuechen and Grosse, Roger and Duvenaud, David",
        "Isolating Sources of Disentanglement in Variational Autoencoders", NEURIPS, 2018),
    "li2020": (
        "Li, Zhiyuan and Murkute, Jaideep Vitthal and Gyawali, Prashnna Kumar and Wang, Linwei",
        "Progressive Learning and Disentanglement of Hierarchical Representations", ICLR, 2020),
    "ridgeway2018": (
        "Ridgeway, Karl and Mozer, Michael C.",
        "Learning Deep Disentangled Embeddings with the F-Statistic Loss", NEURIPS, 2018),
    "hsu2023": (
        "Hsu, Kyle and Dorrell, Will and Whittington, James C. R. and Wu, Jiajun and Finn, Chelsea",
        "Disentanglement via Latent Quantization", NEURIPS, 2023),
    "do2020": (
        "Do, Kien and Tran, Truyen",
        "Theory and Evaluation Metrics for Learning Disentangled Representations", ICLR, 2020),
    "sepliarskaia2019": (
        "Sepliarskaia, Anna and Kiseleva, Julia and de Rijke, Maarten",
        "Evaluating Disentangled Representations", "arXiv:1910.05587", 2019),
    "cao2022": (
        "Cao, Jinkun and Nai, Ruiqian and Yang, Qing and Huang, Jialei and Gao, Yang",
        "An Empirical Study on Disentanglement of Negative-free Contrastive Learning",
        NEURIPS, 2022),
    "almudevar2024": (
        "Almud{\\'e}var, Antonio and Ortega, Alfonso and Vicente, Luis and Miguel, Antonio and "
        "Lleida, Eduardo",
        "Defining and Measuring Disentanglement for non-Independent Factors of Variation",
        "arXiv:2408.07016", 2024),
    "kumar2018": (
        "Kumar, Abhishek and Sattigeri, Prasanna and Balakrishnan, Avinash",
        "Variational Inference of Disentangled Latent Concepts from Unlabeled Observations",
        ICLR, 2018),
    "eastwood2018": (
        "Eastwood, Cian and Williams, Christopher K. I.",
        "A Framework for the Quantitative Evaluation of Disentangled Representations", ICLR, 2018),
    "eastwood2023": (
        "Eastwood, Cian and Nicolicioiu, Andrei Liviu and von K{\\\"u}gelgen, Julius and "
        "Keki{\\'c}, Armin and Tr{\\\"a}uble, Frederik and Dittadi, Andrea and "
        "Sch{\\\"o}lkopf, Bernhard",
        "{DCI-ES}: An Extended Disentanglement Framework with Connections to Identifiability",
        ICLR, 2023),
    "higgins2017": (
        "Higgins, Irina and Matthey, Loic and Pal, Arka and Burgess, Christopher and "
        "Glorot, Xavier and Botvinick, Matthew and Mohamed, Shakir and Lerchner, Alexander",
        "beta-{VAE}: Learning Basic Visual Concepts with a Constrained Variational Framework",
        ICLR, 2017),
    "higgins2018": (
        "Higgins, Irina and Amos, David and Pfau, David and Racani{\\`e}re, S{\\'e}bastien and "
        "Matthey, Loic and Rezende, Danilo and Lerchner, Alexander",
        "Towards a Definition of Disentangled Representations", "arXiv:1812.02230", 2018),
    "kim2018": (
        "Kim, Hyunjik and Mnih, Andriy", "Disentangling by Factorising", ICML, 2018),
    "kim2019": (
        "Kim, Minyoung and Wang, Yuting and Sahu, Pritish and Pavlovic, Vladimir",
        "Relevance Factor {VAE}: Learning and Identifying Disentangled Factors",
        "arXiv:1902.01568", 2019),
    "suter2019": (
        "Suter, Raphael and Miladinovic, Djordje and Sch{\\\"o}lkopf, Bernhard and Bauer, Stefan",
        "Robustly Disentangled Causal Mechanisms: Validating Deep Representations for "
        "Interventional Robustness", ICML, 2019),
    "hyvarinen2016": (
        "Hyv{\\\"a}rinen, Aapo and Morioka, Hiroshi",
        "Unsupervised Feature Extraction by Time-Contrastive Learning and Nonlinear {ICA}",
        NEURIPS, 2016),
    "khemakhem2020": (
        "Khemakhem, Ilyes and Monti, Ricardo Pio and Kingma, Diederik P. and "
        "Hyv{\\\"a}rinen, Aapo",
        "{ICE-BeeM}: Identifiable Conditional Energy-Based Deep Models Based on Nonlinear {ICA}",
        NEURIPS, 2020),
    "mahon2023": (
        "Mahon, Louis and Sha, Lei and Lukasiewicz, Thomas",
        "Correcting Flaws in Common Disentanglement Metrics", "arXiv:2304.02335", 2023),
    "kugelgen2021": (
        "von K{\\\"u}gelgen, Julius and Sharma, Yash and Gresele, Luigi and Brendel, Wieland and "
        "Sch{\\\"o}lkopf, Bernhard and Besserve, Michel and Locatello, Francesco",
        "Self-Supervised Learning with Data Augmentations Provably Isolates Content from Style",
        NEURIPS, 2021),
    "tonnaer2022": (
        "Tonnaer, Loek and Perez Rey, Luis A. and Menkovski, Vlado and Holenderski, Mike and "
        "Portegies, Jacobus W.",
        "Quantifying and Learning Linear Symmetry-Based Disentanglement", ICML, 2022),
    "watters2019": (
        "Watters, Nicholas and Matthey, Loic and Burgess, Christopher P. and Lerchner, Alexander",
        "Spatial Broadcast Decoder: A Simple Architecture for Learning Disentangled "
        "Representations in {VAEs}", "arXiv:1901.07017", 2019),
    "kornblith2019": (
        "Kornblith, Simon and Norouzi, Mohammad and Lee, Honglak and Hinton, Geoffrey",
        "Similarity of Neural Network Representations Revisited", ICML, 2019),
    "kriegeskorte2008": (
        "Kriegeskorte, Nikolaus and Mur, Marieke and Bandettini, Peter A.",
        "Representational similarity analysis: connecting the branches of systems neuroscience",
        "Frontiers in Systems Neuroscience", 2008),
    "schonemann1966": (
        "Sch{\\\"o}nemann, Peter H.",
        "A generalized solution of the orthogonal {Procrustes} problem", "Psychometrika", 1966),
}  # fmt: skip
SELF = """@software{geodis,
  author = {{The geodis authors}},
  title = {geodis: geometry-first disentanglement analysis},
  url = {https://github.com/geodis-learn/geodis-learn}
}"""
# "Chen et al. 2018", "Do and Tran 2020", "Mahon, Sha and Lukasiewicz 2023".
CITED = re.compile(r"(\w+)(?:(?:, \w+)* and (?:de )?\w+| et al\.)? (\d{4})")


def entry(key: str) -> str:
    """One paper as BibTeX.

    Examples
    --------
    >>> print(entry("kim2018"))
    @misc{kim2018,
      author = {Kim, Hyunjik and Mnih, Andriy},
      title = {Disentangling by Factorising},
      howpublished = {International Conference on Machine Learning},
      year = {2018}
    }
    """
    author, title, place, year = PAPERS[key]
    rows = {"author": author, "title": title, "howpublished": place, "year": year}
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in rows.items())
    return f"@misc{{{key},\n{lines}\n}}"


def entries_of(keys: Iterable[str]) -> str:
    """All papers once, in their order, and geodis itself; unknown keys are passed over."""
    known = dict.fromkeys(key for key in keys if key in PAPERS)
    return "\n\n".join([SELF, *(entry(key) for key in known)])


def keys_in(text: str) -> list[str]:
    """Keys of the papers that a text cites by authors and year, as far as they are known.

    Examples
    --------
    >>> keys_in("Hyvärinen and Morioka 2016, section 5; Nobody 1900")
    ['hyvarinen2016']
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    keys = (f"{name.lower()}{year}" for name, year in CITED.findall(plain))
    return [key for key in keys if key in PAPERS]
