"""Public related tables with their schemas: patients and stays, accounts and orders, accounts and their persons."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import pandas as pd
from public_tables import public
from runner import SHARED

LAST = (139, 239, 249, 250, 279, 289, 319, 389, 459, 519, 579, 629, 679, 709, 739, 759, 799, 999)  # code of a chapter
CHAPTERS = (
    *("infectious", "neoplasms", "endocrine", "diabetes", "endocrine", "blood", "mental", "nervous", "circulatory"),
    *("respiratory", "digestive", "genitourinary", "pregnancy", "skin", "muscles", "congenital", "symptoms", "injury"),
)


@dataclass(frozen=True)
class Case:
    """Two tables and their schema."""

    name: str
    tables: dict[str, pd.DataFrame]
    schema: dict

    @property
    def key(self) -> dict:
        """The only key."""
        return self.schema["keys"][0]


def facts(frame: pd.DataFrame, numbers: dict[str, tuple[int, int]], keys: list[str]) -> dict:
    """A schema's columns, public for the benchmark."""

    def one(name: str) -> dict:
        if name in keys:
            return {"type": "identifier"}
        if name in numbers:
            return {"type": "integer", "min": numbers[name][0], "max": numbers[name][1]}
        return {"type": "categorical", "categories": sorted(frame[name].unique())}

    return {"columns": {n: one(n) for n in frame.columns}}


def chapter(code: str) -> str:
    """The chapter of a diagnosis code."""
    if not code[:1].isdigit():
        return code[:1]
    return CHAPTERS[bisect_left(LAST, int(float(code)))]


def hospital() -> Case:
    """Diabetes 130-US hospitals: race and gender of patients, twelve columns of stays, ordered by their numbers."""
    rows = public("diabetes_130_hospitals.csv.gz")
    rows["diagnosis"] = rows["diag_1"].map(chapter)
    codes = ["age", "admission_type_id", "discharge_disposition_id", "admission_source_id"]
    columns = [*codes, "time_in_hospital", "medical_specialty", "num_medications", "number_inpatient"]
    columns += ["number_diagnoses", "diagnosis", "insulin", "readmitted"]
    ordered = rows.iloc[np.argsort(rows["encounter_id"].astype(int))]
    patients = ordered.groupby("patient_nbr", as_index=False).first()[["patient_nbr", "race", "gender"]]
    stays = rows[["encounter_id", "patient_nbr", *columns]]
    numbers = {"time_in_hospital": (1, 14), "num_medications": (0, 81)}
    numbers |= {"number_inpatient": (0, 21), "number_diagnoses": (1, 16)}
    keys = ["encounter_id", "patient_nbr"]
    tables = {"patients": patients, "stays": stays}
    return _case("hospital", tables, numbers, keys, columns=["patient_nbr"], order="encounter_id")


def bank() -> Case:
    """A Czech bank: accounts (district, frequency of statements, year) and their payment orders."""
    how = {"dtype": str, "sep": None, "engine": "python", "keep_default_na": False}
    accounts, orders = (
        pd.read_csv(SHARED / "data" / "relational_bank" / f"{n}.csv", **how) for n in ("account", "order")
    )
    accounts["year"] = accounts["date"].str.replace("-", "").str[-6:].str[:2]
    accounts = accounts[["account_id", "district_id", "frequency", "year"]]
    orders["amount"] = orders["amount"].astype(float).round().astype(int).astype(str)
    orders = orders[["order_id", "account_id", "bank_to", "amount", "k_symbol"]]
    tables = {"accounts": accounts, "orders": orders}
    return _case("bank", tables, {"amount": (0, 15000)}, ["account_id", "order_id"], columns=["account_id"])


def persons() -> Case:
    """Accounts and the one or two persons who hold them, as households: role, sex, year of birth, district."""
    how = {"dtype": str, "sep": None, "engine": "python", "keep_default_na": False}
    folder = SHARED / "data" / "relational_bank"
    accounts, clients, held = (pd.read_csv(folder / f"{n}.csv", **how) for n in ("account", "client", "disp"))
    accounts["year"] = accounts["date"].str.replace("-", "").str[-6:].str[:2]
    accounts = accounts[["account_id", "district_id", "frequency", "year"]]
    people = held.merge(clients.rename(columns={"district_id": "home"}), on="client_id")
    people["born"] = people["birth_date"].str[:4]
    people = people[["client_id", "account_id", "type", "gender", "born", "home"]]
    tables = {"accounts": accounts, "persons": people}
    return _case("persons", tables, {"born": (1905, 1990)}, ["account_id", "client_id"], columns=["account_id"])


def some_roots(case: Case, roots: int, seed: int) -> Case:
    """The case with so many of its roots, drawn at random, and all below them."""
    parent, child, (column,) = case.key["parent"], case.key["child"], case.key["columns"]
    upper, lower = case.tables[parent], case.tables[child]
    chosen = upper.sample(roots, random_state=seed).reset_index(drop=True)
    below = lower[lower[column].isin(chosen[column])].reset_index(drop=True)
    return Case(case.name, {parent: chosen, child: below}, case.schema)


def _case(name: str, tables: dict[str, pd.DataFrame], numbers: dict, keys: list[str], **key) -> Case:
    """A parent's table and its child's, of whose rows a parent has at most five."""
    described = {n: facts(t, numbers, keys) for n, t in tables.items()}
    key = dict(zip(("parent", "child"), tables, strict=True)) | {"most_children": 5} | key
    return Case(name, tables, {"dataset": name, "tables": described, "keys": [key]})
