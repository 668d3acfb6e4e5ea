"""What the words mean on data: populations, problems, and their compiled form."""

from ratebound.problem.compiled import Compiled as Compiled
from ratebound.problem.compiling import compile as compile
from ratebound.problem.population import Population as Population
from ratebound.problem.problem import Problem as Problem
