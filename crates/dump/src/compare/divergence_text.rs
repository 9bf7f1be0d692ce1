use opscope_text::shown_text;

use super::render::NAMED;
use super::{Blame, Comparison, Divergence, MatchedBy, Verdict};
use crate::StoredOrigin;

impl Comparison {
    /// Returns the lines about the first operator that diverges.
    pub(super) fn divergence_text(&self, divergence: &Divergence) -> String {
        let row = &divergence.tensor;
        let mut named = match &divergence.operator {
            Some(operator) => match &operator.op_type {
                Some(op_type) => format!("operator '{}' ({op_type})", operator.name),
                None => format!("operator '{}'", operator.name),
            },
            None => format!("tensor '{}'", row.place.label()),
        };
        if divergence.operator.as_ref().is_some_and(|operator| operator.is_before) {
            named += &format!(", seen behind it in '{}', which only moves its values", row.place.label());
        }
        if let Some(files) = self.files_of(row).filter(|_| self.input_sets.len() > 1) {
            named += &format!(", with {files}");
        }
        if let Some(phase) = &row.place.phase {
            named += &format!(" (step {}, {phase})", row.place.run.unwrap_or(0));
        }
        let mut text = format!("first to diverge: {}, {}\n", shown_text(&named), shown_text(&self.outcome(row)));
        if let Some(origin) = &divergence.origin {
            origin.lines().iter().for_each(|line| text += &format!("  {}\n", shown_text(line)));
        }
        if row.matched_by == MatchedBy::Export {
            text += &self.program_text(&row.reference);
        }
        if !divergence.between.is_empty() {
            let more = divergence.between.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = divergence.between[..divergence.between.len().min(NAMED)].join(", ");
            text += &format!(
                "  or one of what it is computed by, which only this side has: {}{more}\n",
                shown_text(&names)
            );
        }
        for input in &divergence.inputs {
            let compared = match (&input.compared, input.given) {
                (Some(row), _) => self.outcome(row),
                (None, Verdict::Same) => "the same, as it was given to both sides".into(),
                (None, Verdict::Different) => "the two sides were given different data".into(),
                (None, Verdict::Unknown) => "not captured".into(),
            };
            let (value, compared) = (shown_text(&input.value), shown_text(&compared));
            text += &format!("  its input {} '{value}': {compared}\n", input.slot);
        }
        text += &match &divergence.blame {
            Blame::Operator => "  its inputs are right: it is this operator\n".into(),
            Blame::Inputs => "  its inputs already differed\n".into(),
            Blame::Either => {
                "  its inputs are within tolerance, but so far apart that it may only hand that on\n".into()
            }
            Blame::Initializers(names) => {
                format!(
                    "  its inputs are right, but initializers that it takes differ: {}\n",
                    shown_text(&names.join(", "))
                )
            }
            Blame::Unknown => {
                "  whether it is this operator cannot be told: its inputs were not all captured\n".to_owned()
            }
        };
        text
    }

    /// Returns the line about the tensor of a program that a value of an export was compared with.
    fn program_text(&self, place: &StoredOrigin) -> String {
        let source = place.code.as_ref().and_then(|code| code.source.as_ref());
        let source = source.map_or_else(String::new, |source| format!(", {source}"));
        format!("  in the program it is {}\n", shown_text(&format!("'{}'{source}", place.label())))
    }
}
