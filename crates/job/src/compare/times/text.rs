use std::fmt::Write;

use opscope_text::Column::{Middles, Numbers, Words};
use opscope_text::{TextTable, shown_duration, shown_text};

use super::comparison::{Change, Judgement, OperatorChange, Side, TimesComparison};

impl TimesComparison {
    /// Returns the comparison as text for a terminal: both sides, what differs in the surroundings, the time of a run, and the
    /// `most` operators that changed the most. It is 80 columns wide.
    pub fn text(&self, most: usize) -> String {
        self.text_within(most, 80)
    }

    /// Returns [`text`](Self::text) with tables of another width, in columns.
    pub fn text_within(&self, most: usize, width: usize) -> String {
        let mut text = String::new();
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let _ = writeln!(text, "{name}  {}", side.line());
        }
        let _ = writeln!(text, "{}", self.baseline_sentence());
        self.write_surroundings(&mut text, width);
        text.push('\n');
        let columns = [
            Middles("median"),
            Words("type"),
            Numbers("A"),
            Numbers("B"),
            Numbers("B - A"),
            Numbers("change (95 %)"),
            Words(""),
        ];
        let mut table = TextTable::new(columns).with_spare(&["type"]).within(width);
        table.row(cells("run", "", &self.run, ""));
        if let Some(outside) = &self.outside {
            table.row(cells("outside of operators", "", outside, ""));
        }
        for operator in self.operators.iter().take(most) {
            table.row(cells(&operator.label(), &operator.op_type, &operator.change, operator.presence.label()));
        }
        text += &table.text();
        if self.operators.len() > most {
            let _ = writeln!(text, "... and {} more operators that changed less", self.operators.len() - most);
        }
        for judgement in &self.judgements {
            let _ = writeln!(text, "{}", shown_text(&judgement.sentence()));
        }
        for note in &self.notes {
            let _ = writeln!(text, "note  {}", shown_text(note));
        }
        text
    }

    fn write_surroundings(&self, text: &mut String, width: usize) {
        if self.surroundings.is_empty() {
            return;
        }
        let mut table = TextTable::new([Words("differs"), Middles("A"), Middles("B")]).without_rule().within(width);
        for difference in &self.surroundings {
            let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            table.row([difference.what.clone(), side(&difference.a), side(&difference.b)]);
        }
        text.push('\n');
        text.push_str(&table.text());
    }
}

impl Side {
    fn line(&self) -> String {
        let engine = &self.engine;
        let threads = if engine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", engine.threads) };
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs) };
        let path = self.path.display().to_string();
        format!(
            "{} ({} {}, {}, {threads}, {runs})",
            shown_text(&path),
            shown_text(&engine.name),
            shown_text(&engine.version),
            engine.fidelity
        )
    }
}

impl Judgement {
    /// Returns what it says, as a sentence.
    fn sentence(&self) -> String {
        let interval = self.change.percent_interval.map_or_else(
            || "there is no confidence interval".to_owned(),
            |(low, high)| format!("the change is {low:+.1} % to {high:+.1} % with 95 % confidence"),
        );
        let verdict = match self.exceeded {
            Some(true) => "exceeded",
            Some(false) => "not exceeded",
            None => "cannot tell",
        };
        let advice = self
            .measure_seconds
            .map_or_else(String::new, |seconds| format!("; measure both for longer, with --duration {seconds}"));
        format!("{} ({}): {verdict}; {interval}{advice}", self.threshold, self.of)
    }
}

impl OperatorChange {
    fn label(&self) -> String {
        let first = self.operators.first().map_or("", String::as_str);
        match (self.operators.len(), self.added) {
            (_, true) => format!("{first} (engine)"),
            (0 | 1, false) => first.to_owned(),
            (all, false) => format!("{first} +{}", all - 1),
        }
    }
}

fn cells(name: &str, op_type: &str, change: &Change, label: &str) -> [String; 7] {
    let time = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), shown_duration);
    let percent = match (change.percent_interval, change.percent) {
        (Some((low, high)), _) => format!("{low:+.1} to {high:+.1} %"),
        (None, Some(percent)) => format!("{percent:+.1} %, unsure"),
        (None, None) => "-".to_owned(),
    };
    [
        name.to_owned(),
        op_type.to_owned(),
        time(change.a_ns),
        time(change.b_ns),
        signed(change.difference_ns),
        percent,
        label.to_owned(),
    ]
}

fn signed(nanos: f64) -> String {
    let sign = if nanos > 0.0 { "+" } else { "" };
    format!("{sign}{}", shown_duration(nanos))
}
