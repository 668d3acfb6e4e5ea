"""What was promised and what was kept: the same words, on another population."""

from ratebound.audit.auditing import audit as audit
from ratebound.audit.report import Audit as Audit
