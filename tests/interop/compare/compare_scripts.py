"""Loads every module of scripts/, each of which registers its request scripts."""
import importlib
import pkgutil

import scripts


def load():
    for module in pkgutil.iter_modules(scripts.__path__):
        importlib.import_module(f"scripts.{module.name}")
