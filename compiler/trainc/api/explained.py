"""Where each field of the output comes from, and what the log of a run says."""

from trainc.explain import expressions as expressions, place as place
from trainc.explain.model import ExplainedField as ExplainedField, Explanation as Explanation, Origin as Origin
from trainc.explain.placing import explained_jobset as explained_jobset, source_of as source_of
from trainc.explain.replay import Recorder as Recorder
from trainc.explain.text import (
    describe_origin as describe_origin,
    explanation_text as explanation_text,
    format_value as format_value,
    shorten_value as shorten_value,
)
from trainc.findings import as_html as as_html
