"""railgauge between the two hosts."""
