"""Made-up clinic visits for demonstrations: patients who return, and the bad events that every stream has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK = 5_000
FIRST_DAY = np.datetime64("2025-01-01")
DAYS = 360
VISITS_A_DAY = 600
FLAWED = 0.005
MOST_PATIENTS = 200_000

# Weights by age of 0-4, 5-17, 18-39, 40-64, 65 and more; by sex female, male; the median of the cost.
_DEPARTMENTS: Mapping[str, tuple[tuple[int, ...], tuple[int, int], int]] = {
    "Cardiology": ((0, 1, 3, 12, 26), (4, 5), 210),
    "Pneumology": ((2, 3, 4, 7, 10), (4, 5), 140),
    "Gastroenterology": ((1, 2, 7, 11, 9), (1, 1), 190),
    "Nephrology": ((0, 1, 2, 5, 9), (4, 5), 260),
    "Endocrinology": ((0, 2, 5, 10, 10), (3, 2), 95),
    "Haematology": ((1, 1, 2, 3, 5), (1, 1), 310),
    "Oncology": ((1, 1, 3, 10, 15), (1, 1), 640),
    "General surgery": ((1, 4, 8, 10, 8), (1, 1), 520),
    "Urology": ((0, 1, 3, 8, 12), (1, 4), 160),
    "Orthopaedics": ((0, 6, 10, 14, 15), (1, 1), 180),
    "Trauma surgery": ((3, 12, 12, 7, 9), (2, 3), 430),
    "Neurology": ((0, 2, 6, 9, 13), (5, 4), 200),
    "Psychiatry": ((0, 4, 12, 9, 4), (5, 4), 120),
    "Ophthalmology": ((1, 4, 4, 8, 16), (1, 1), 90),
    "Ear nose and throat": ((5, 8, 6, 6, 6), (1, 1), 85),
    "Gynaecology": ((0, 2, 18, 12, 5), (1, 0), 110),
    "Obstetrics": ((0, 1, 16, 1, 0), (1, 0), 350),
    "Paediatrics": ((60, 45, 0, 0, 0), (1, 1), 70),
    "Neonatology": ((20, 0, 0, 0, 0), (1, 1), 900),
}
_DIAGNOSES: Mapping[str, tuple[str, ...]] = {
    "Cardiology": ("Hypertension", "Heart failure", "Atrial fibrillation", "Angina pectoris", "Heart attack"),
    "Pneumology": ("Asthma", "Chronic bronchitis", "Pneumonia", "Sleep apnoea"),
    "Gastroenterology": ("Gastritis", "Reflux", "Crohn's disease", "Gallstones", "Hepatitis C"),
    "Nephrology": ("Kidney failure", "Kidney stones", "Nephritis"),
    "Endocrinology": ("Diabetes type 2", "Hypothyroidism", "Diabetes type 1", "Obesity"),
    "Haematology": ("Anaemia", "Leukaemia", "Thrombosis", "HIV infection"),
    "Oncology": ("Breast cancer", "Lung cancer", "Colon cancer", "Prostate cancer", "Lymphoma"),
    "General surgery": ("Hernia", "Appendicitis", "Gallstones", "Abscess"),
    "Urology": ("Prostate enlargement", "Kidney stones", "Cystitis", "Prostate cancer"),
    "Orthopaedics": ("Back pain", "Arthrosis of the knee", "Arthrosis of the hip", "Slipped disc"),
    "Trauma surgery": ("Fracture of the wrist", "Sprain", "Concussion", "Fracture of the hip"),
    "Neurology": ("Migraine", "Stroke", "Epilepsy", "Parkinson's disease", "Multiple sclerosis"),
    "Psychiatry": ("Depression", "Anxiety", "Alcohol dependence", "Schizophrenia"),
    "Ophthalmology": ("Cataract", "Glaucoma", "Conjunctivitis"),
    "Ear nose and throat": ("Otitis", "Sinusitis", "Hearing loss", "Tinnitus"),
    "Gynaecology": ("Check-up", "Endometriosis", "Fibroids", "Breast cancer"),
    "Obstetrics": ("Pregnancy", "Birth", "Gestational diabetes"),
    "Paediatrics": ("Check-up", "Otitis", "Asthma", "Gastroenteritis", "Measles"),
    "Neonatology": ("Jaundice", "Preterm birth"),
}
_NAMES = np.array(["Ada", "Ben", "Cleo", "Dora", "Emil", "Finn", "Greta", "Hugo", "Ida", "Jan", "Kim", "Lea"])
_FAMILIES = np.array(["Abel", "Berg", "Conti", "Dietz", "Ersoy", "Fuchs", "Gruber", "Horn", "Ilic", "Jung"])
_SEXES = np.array(["female", "male", "diverse"])
_BANDS = np.array([5, 18, 40, 65])
_FINDING = ("seen again in May", "sent home", "wants a second opinion", "to be called back", "referred by Dr Horn")


_FLAWS: tuple[Callable[[str], str], ...] = (
    # A field is missing: its leaf is published.
    lambda text: re.sub('"department":"[^"]*",', "", text),
    lambda text: re.sub('"zip":"[^"]*"', '"zip":null', text),
    lambda text: re.sub('"sex":"[^"]*",', "", text),
    lambda text: re.sub(',"diagnosis":"[^"]*"', "", text),
    # No visit: a dead letter.
    lambda text: text[: len(text) // 2],
    lambda text: f"[{text}]",
    lambda text: text.replace('"id":', '"key":'),
    lambda text: text.replace('"age":', '"age":9'),
    lambda text: text.replace('"date":"2025', '"date":"25'),
    lambda text: text.replace('"sex":"', '"sex":"?'),
)


class _Patients(NamedTuple):
    """Everybody who may visit, as columns: the JSON of a patient, how often one comes, and where to."""

    texts: list[str]
    share: NDArray[np.float64]  # float64[p], cumulative, ends at 1
    departments: NDArray[np.float64]  # float64[p, d], cumulative in each row
    usual: NDArray[np.intp]  # the department to which half of a patient's visits go


def visits(count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield `count` visits as JSON; the same for the same seed.

    About every sixth visit is of somebody new, some patients come often. Age, sex, department, diagnosis and
    cost hang together. About 0.5 % are flawed: no JSON, no patient, a field missing, a value that does not fit
    examples/clinic/policy.yaml. Some 300,000 visits a second.
    """
    draws = np.random.default_rng(seed)
    patients = _patients(min(max(50, count // 6), MOST_PATIENTS), draws)
    days = min(DAYS, -(-count // VISITS_A_DAY)) if count else 1
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        numbers = np.arange(start, start + size) * days // count
        dates = (FIRST_DAY + numbers).astype(str).tolist()
        yield from _chunk(patients, dates, draws)


def _patients(number: int, draws: np.random.Generator) -> _Patients:
    old = draws.random(number) < 0.55
    ages = np.where(old, draws.normal(66, 14, number), draws.gamma(2.2, 14, number)).astype(int).clip(0, 104)
    sexes = draws.choice(3, number, p=[0.53, 0.465, 0.005])
    # Towns of very different size; a town's quarters differ in the last two digits.
    towns = draws.choice(24, number, p=(weights := 1 / np.arange(1, 25) ** 1.1) / weights.sum())
    zips = 4100 + towns * 37 % 24 * 100 + draws.integers(0, 12, number) * 3
    names = np.char.add(np.char.add(draws.choice(_NAMES, number), " "), draws.choice(_FAMILIES, number))
    rows = zip(names.tolist(), ages.tolist(), _SEXES[sexes].tolist(), zips.tolist(), strict=True)
    texts = [
        f'"patient":{{"id":"P-{i:06}","name":"{name}","age":{age},"sex":"{sex}","zip":"{place:05}"}}'
        for i, (name, age, sex, place) in enumerate(rows)
    ]
    by_age = np.array([ages_ for ages_, _, _ in _DEPARTMENTS.values()], np.float64).T
    by_sex = np.array([(*sexes_, max(sexes_)) for _, sexes_, _ in _DEPARTMENTS.values()], np.float64).T
    by_sex /= by_sex[:2].sum(axis=0)
    weight = by_age[np.searchsorted(_BANDS, ages, side="right")] * by_sex[sexes]
    departments = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    often = draws.gamma(1.5, 1.0, number) * (0.5 + ages / 60)
    share = np.cumsum(often) / often.sum()
    return _Patients(texts, share, departments, _pick(departments, draws))


def _pick(cumulative: NDArray[np.float64], draws: np.random.Generator) -> NDArray[np.intp]:
    """Return a column for each row of cumulative shares."""
    picked: NDArray[np.intp] = (cumulative < draws.random((len(cumulative), 1))).sum(axis=1)
    return picked.clip(0, cumulative.shape[1] - 1)


def _chunk(patients: _Patients, dates: list[str], draws: np.random.Generator) -> Iterator[bytes]:
    n = len(dates)
    who = np.minimum(np.searchsorted(patients.share, draws.random(n)), len(patients.texts) - 1)
    where = np.where(draws.random(n) < 0.5, patients.usual[who], _pick(patients.departments[who], draws))
    names = list(_DEPARTMENTS)
    costs = np.array([cost for _, _, cost in _DEPARTMENTS.values()])[where] * draws.lognormal(0, 0.5, n)
    # The first diagnosis of a department is the most frequent one.
    rank = draws.random(n) ** 1.6
    notes = draws.integers(0, len(_FINDING), n)
    odd = draws.random(n)
    rows = zip(who.tolist(), where.tolist(), dates, costs.tolist(), rank.tolist(), notes.tolist(), strict=True)
    for (patient, place, date, cost, order, note), chance in zip(rows, odd.tolist(), strict=True):
        department = names[place]
        diagnoses = _DIAGNOSES[department]
        text = (
            f'{{{patients.texts[patient]},"visit":{{"date":"{date}","department":"{department}",'
            f'"cost":{cost:.1f},"note":"{_FINDING[note]}"}},'
            f'"diagnosis":"{diagnoses[int(order * len(diagnoses))]}"}}'
        )
        if chance < FLAWED:
            text = _FLAWS[int(chance / FLAWED * len(_FLAWS))](text)
        yield text.encode()
