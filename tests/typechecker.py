"""The runtime type checker of the tests: as static checkers do, it takes an int where a float is wanted."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
