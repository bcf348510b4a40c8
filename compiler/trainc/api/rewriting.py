"""Documents rewritten with their comments: nodes with their places, and the roles of a job in older APIs."""

from trainc.pipeline import patches as patches
from trainc.reading import libyaml as libyaml
