"""Raw tables as people have them, drawn at random with a seed: texts, categories, gaps and numbers of unlike ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

Frame = Any
Table = tuple[Frame, Any]  # rows, and what is to be predicted
GOOD = ["good", "great", "fine", "love", "excellent", "happy", "perfect", "best", "nice", "pleasant"]
BAD = ["bad", "awful", "poor", "hate", "terrible", "sad", "broken", "worst", "slow", "boring"]
PLAIN = [
    "the",
    "a",
    "this",
    "film",
    "product",
    "it",
    "was",
    "very",
    "not",
    "really",
    "room",
    "service",
    "food",
    "plot",
    "screen",
    "battery",
    "and",
    "but",
    "i",
    "we",
    "they",
]
TOPICS = {
    "sport": ["goal", "match", "team", "player", "season", "coach", "league", "win", "score", "cup"],
    "money": ["bank", "market", "price", "share", "stock", "rate", "profit", "trade", "fund", "tax"],
    "space": ["orbit", "moon", "launch", "rocket", "star", "planet", "probe", "crew", "mission", "light"],
    "food": ["bread", "soup", "cheese", "taste", "oven", "salt", "butter", "recipe", "sweet", "fruit"],
}


def gaps(rng: np.random.Generator, values: Any, share: float, gap: Any = np.nan) -> Any:
    """The same values with some missing."""
    made = np.asarray(values, dtype=object)
    made[rng.uniform(size=len(made)) < share] = gap
    return made


def passengers(rng: np.random.Generator, count: int) -> Table:
    """Passengers of a ship, and who survived."""
    sex, pclass = rng.choice(["male", "female"], count, p=[0.6, 0.4]), rng.choice([1, 2, 3], count, p=[0.25, 0.2, 0.55])
    age, fare = rng.normal(30, 13, count).clip(0.5, 80).round(1), rng.lognormal(2.9, 0.9, count).round(4).clip(4, 150)
    frame = pd.DataFrame(
        {
            "PassengerId": np.arange(count),
            "Pclass": pclass,
            "Name": [f"Passenger {i}" for i in range(count)],
            "Sex": sex,
            "Age": gaps(rng, age, 0.2).astype(float),
            "SibSp": rng.poisson(0.5, count),
            "Parch": rng.poisson(0.4, count),
            "Fare": fare,
            "Cabin": gaps(rng, rng.choice(["A1", "B2", "C3"], count), 0.77),
            "Embarked": gaps(rng, rng.choice(["S", "C", "Q"], count, p=[0.7, 0.2, 0.1]), 0.01),
        }
    )
    score = 2.5 * (sex == "female") - 0.9 * (pclass - 2) - 0.02 * (age - 30) + rng.logistic(0, 1, count) - 1.2
    return frame, (score > 0).astype(int)


def borrowers(rng: np.random.Generator, count: int) -> Table:
    """Applications for credit, and which were good."""
    checking = rng.choice(["<0", "0<=X<200", ">=200", "no checking"], count)
    months, amount = rng.integers(4, 60, count), rng.lognormal(7.8, 0.7, count).round().clip(250, 15000)
    frame = pd.DataFrame(
        {
            "checking_status": checking,
            "duration": months,
            "credit_amount": amount,
            "purpose": rng.choice(["radio/tv", "education", "furniture", "new car", "used car", "repairs"], count),
            "savings": gaps(rng, rng.choice(["<100", "100<=X<500", ">=1000"], count), 0.15, None),
            "employment": rng.choice(["unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"], count),
            "age": rng.integers(19, 75, count),
            "housing": rng.choice(["own", "rent", "for free"], count),
            "foreign_worker": rng.choice(["yes", "no"], count),
            "existing_credits": rng.integers(1, 5, count),
        }
    )
    score = 1.2 * (checking == "no checking") - 0.03 * (months - 20) - amount / 9000 + rng.logistic(0, 0.8, count) + 0.8
    return frame, np.where(score > 0, "good", "bad")


def subscribers(rng: np.random.Generator, count: int) -> Table:
    """Subscribers of a telephone company, and who left."""
    contract = rng.choice(["Month-to-month", "One year", "Two year"], count, p=[0.55, 0.2, 0.25])
    tenure, monthly = rng.integers(0, 73, count), rng.uniform(18, 119, count).round(2)
    frame = pd.DataFrame(
        {
            "customerID": [f"{i:05d}-X" for i in range(count)],
            "gender": rng.choice(["Female", "Male"], count),
            "SeniorCitizen": rng.integers(0, 2, count),
            "Partner": rng.choice(["Yes", "No"], count),
            "tenure": tenure,
            "InternetService": rng.choice(["DSL", "Fiber optic", "No"], count),
            "Contract": contract,
            "PaperlessBilling": rng.uniform(size=count) < 0.6,
            "MonthlyCharges": monthly,
            "PaymentMethod": rng.choice(["Electronic check", "Mailed check", "Bank transfer", "Credit card"], count),
            "TotalCharges": gaps(rng, (tenure * monthly).round(2), 0.05).astype(float),
        }
    )
    score = 1.8 * (contract == "Month-to-month") - 0.05 * tenure + 0.02 * monthly + rng.logistic(0, 1, count) - 1.6
    return frame, np.where(score > 0, "Yes", "No")


def houses(rng: np.random.Generator, count: int) -> Table:
    """Houses, and their prices in thousands."""
    area, quality = rng.lognormal(7.2, 0.35, count).round().clip(500, 4000), rng.integers(1, 11, count)
    town = rng.choice([f"Town{i:02d}" for i in range(25)], count, p=np.arange(25, 0, -1) / 325)
    frame = pd.DataFrame(
        {
            "GrLivArea": area,
            "OverallQual": quality,
            "YearBuilt": rng.integers(1900, 2020, count),
            "Neighborhood": town,
            "LotFrontage": gaps(rng, rng.normal(70, 20, count).round().clip(35, 110), 0.18).astype(float),
            "GarageType": gaps(rng, rng.choice(["Attchd", "Detchd", "BuiltIn"], count), 0.06),
            "Fireplaces": rng.integers(0, 4, count),
            "CentralAir": rng.choice(["Y", "N"], count, p=[0.93, 0.07]),
            "KitchenQual": rng.choice(["Ex", "Gd", "TA", "Fa"], count),
        }
    )
    places = np.array([int(name[4:]) for name in town])
    return frame, 0.07 * area + 12 * quality - 1.5 * places + rng.normal(0, 12, count) + 20


def rides(rng: np.random.Generator, count: int) -> Table:
    """Hours of a rental of bicycles by calendar and weather, and how many went out."""
    days = pd.date_range("2024-01-01", periods=count, freq="7h")
    temperature = 12 - 11 * np.cos(2 * np.pi * days.dayofyear / 365) + rng.normal(0, 4, count)
    frame = pd.DataFrame(
        {
            "season": [("winter", "spring", "summer", "fall")[(m % 12) // 3] for m in days.month],
            "month": days.month_name(),
            "weekday": days.day_name(),
            "hour": days.hour,
            "holiday": rng.uniform(size=count) < 0.03,
            "weather": rng.choice(["clear", "misty", "rain", "heavy_rain"], count, p=[0.63, 0.26, 0.1, 0.01]),
            "temp": temperature.to_numpy().round(2).clip(-5, 28),
            "humidity": gaps(rng, rng.uniform(0.2, 1, count).round(2), 0.04).astype(float),
        }
    )
    rush = np.isin(days.hour, (7, 8, 17, 18))
    return frame, np.asarray(40 + 60 * rush + 4 * temperature + rng.normal(0, 15, count)).clip(0)


def claims(rng: np.random.Generator, count: int) -> Table:
    """Policies of an insurance of cars, and the frequency of claims."""
    age, bonus = rng.integers(18, 90, count), rng.integers(50, 180, count)
    frame = pd.DataFrame(
        {
            "Area": rng.choice(list("ABCDEF"), count),
            "VehPower": rng.integers(4, 13, count),
            "VehAge": rng.integers(0, 25, count),
            "DrivAge": age,
            "BonusMalus": bonus,
            "VehBrand": rng.choice([f"B{i}" for i in range(1, 12)], count),
            "VehGas": rng.choice(["Diesel", "Regular"], count),
            "Density": rng.lognormal(6, 1.8, count).round().clip(1, 27000),
        }
    )
    mean = 0.1 * np.exp(0.02 * (bonus - 60) + 0.5 * (age < 25))
    return frame, rng.poisson(mean) / 1.0


def visitors(rng: np.random.Generator, count: int) -> Table:
    """Visits of a shop with many places and pages, and who bought."""
    place = rng.choice([f"{n:05d}" for n in range(1000, 1120)], count, p=np.arange(120, 0, -1) / 7260)
    page = rng.choice([f"page-{i}" for i in range(40)], count)
    worth = {name: value for name, value in zip(sorted(set(place)), rng.normal(0, 1.3, 120), strict=False)}
    frame = pd.DataFrame(
        {
            "zip": place,
            "page": page,
            "device": gaps(rng, rng.choice(["phone", "desk", "tablet"], count), 0.1),
            "seconds": rng.exponential(120, count).round().clip(5, 600),
            "visits": rng.integers(1, 30, count),
        }
    )
    score = np.array([worth[p] for p in place]) + 0.004 * frame["seconds"] + rng.logistic(0, 0.6, count) - 0.5
    return frame, (score > 0).astype(int)


def sentences(rng: np.random.Generator, count: int, kinds: dict[str, Sequence[str]]) -> tuple[list[str], Any]:
    """Texts with words of one kind among plain ones, and their kinds."""
    names = list(kinds)
    label = rng.choice(names, count)
    texts = []
    for name in label:
        words = [*rng.choice(PLAIN, rng.integers(4, 18)), *rng.choice(kinds[name], rng.integers(1, 4))]
        rng.shuffle(words)
        texts.append(" ".join(words).capitalize() + rng.choice([".", "!", "?", "..."]))
    return texts, label


def reviews(rng: np.random.Generator, count: int) -> tuple[list[str], Any]:
    """Texts, and whether they praise."""
    return sentences(rng, count, {"negative": BAD, "positive": GOOD})


def news(rng: np.random.Generator, count: int) -> tuple[list[str], Any]:
    """Texts, and their topics."""
    return sentences(rng, count, TOPICS)


def tickets(rng: np.random.Generator, count: int) -> Table:
    """Letters to a help desk with some columns beside their text, and the department that answers."""
    texts, label = news(rng, count)
    frame = pd.DataFrame(
        {
            "subject": texts,
            "channel": rng.choice(["mail", "web", "phone"], count),
            "plan": gaps(rng, rng.choice(["free", "pro"], count), 0.2),
            "age_days": gaps(rng, rng.exponential(300, count).round().clip(0, 1500), 0.1).astype(float),
        }
    )
    return frame, label
