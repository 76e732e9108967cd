"""Probes of the machine are repeated once, not nine times. No test looks at the certificates of the trainings that it
starts in processes; of a short training, probes are a third of the processor time.
"""

from normcore import probe

probe.TIMES = 1
