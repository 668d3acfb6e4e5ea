"""What was promised and what was kept: the same words, on another population."""

from ratebound.auditing.auditing import audit as audit
from ratebound.auditing.report import Audit as Audit
