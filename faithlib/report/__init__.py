"""What every paper's report shares: tables and figures on disk, and one look for each attribution."""

from faithlib.report.io import save_figure, save_table
from faithlib.report.style import label, line, note_scale, styled, use_style
