"""Random texts that are almost clauses: mutations of clauses that are, and soups of their words."""

from random import Random
from typing import Final

from cep.row_pattern.parsing.words import words_of

_WORDS: Final = (  # noqa: SIM905 - split at blanks only: white space is among the words
    "( ) {- -} { } * + ? | ^ $ , . [ ] = < > <= <> || - / % :: -> @ # ? :x "
    "PERMUTE PREV NEXT FIRST LAST CLASSIFIER MATCH_NUMBER RUNNING FINAL COUNT SUM ARRAY DISTINCT "
    "AS DEFINE PATTERN SUBSET WITHIN INTERVAL SECOND NULL TRUE AND OR NOT IN BETWEEN IS LIKE CASE "
    "WHEN THEN ELSE END OVER FILTER ORDER BY CAST INT DATE SELECT FROM ONE ROW ALL ROWS PER MATCH "
    "AFTER SKIP TO A B a p t \"a\" `p` `#0` A.* A.p COUNT(*) '1' 'x' '' 0 1 1.5 1e3 99999999999 "
    "' \" ` -- /* */ \\ \n \t \x00 é 日本 😀"
).split(" ")
_LETTERS: Final = "()'\"`{}-*?|^$,.# \n\té\x00A1_"
_BETWEEN: Final = [" ", " ", " ", "\n", "\t", "  ", "\r\n", "/* é */", " -- x\n"]


def mutated(random: Random, clause: str) -> str:
    """Return a clause with up to three changes, its words set apart in odd ways."""
    words = [word.text for word in words_of(clause)[:-1]]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        place = random.randrange(len(words))
        match random.randrange(5):
            case 0:
                del words[place]
            case 1:
                words.insert(place, random.choice(_WORDS))
            case 2:
                words[place] = random.choice(_WORDS)
            case 3:
                other = random.randrange(len(words))
                words[place], words[other] = words[other], words[place]
            case _:
                word = words[place]
                cut = random.randrange(len(word) + 1)
                words[place] = word[:cut] + random.choice(_LETTERS) + word[cut:]
    return "".join(word + random.choice(_BETWEEN) for word in words)


def soup(random: Random) -> str:
    """Return a clause whose measure, pattern and condition are random words."""

    def some() -> str:
        return " ".join(random.choice(_WORDS) for _ in range(random.randrange(1, 9)))

    return f"MATCH_RECOGNIZE ( MEASURES {some()} AS m PATTERN ({some()}) DEFINE A AS {some()} )"
