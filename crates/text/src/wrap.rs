use crate::display_width;

/// Breaks a text at blanks into lines. Each is as long as possible, and exceeds the width only if a single word does.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    if display_width(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if display_width(line) + 1 + display_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Breaks a text into at most `most` lines. A longer text loses its last clauses, those in parentheses first. It loses
/// words at its end only if a single clause is too long.
pub fn wrapped_within(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut text = text.to_owned();
    let fits = |text: &str| wrapped(text, width).len() <= most;
    while !fits(&text) {
        let shorter = match text.ends_with(')') {
            true => text.rfind(" ("),
            false => ["; ", ", ", ": "].iter().filter_map(|mark| text.rfind(mark)).max(),
        };
        let Some(end) = shorter.filter(|end| *end > 0) else { break };
        text.truncate(end);
    }
    let mut lines = wrapped(&text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while display_width(last) + 2 > width {
                let Some(end) = last.rfind(' ') else { break };
                last.truncate(end);
            }
            last.push_str(" …");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_no_word_is_broken() {
        assert_eq!(wrapped("one two three", 80), ["one two three"]);
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrapped("a/long/path b", 4), ["a/long/path", "b"]);
    }

    #[test]
    fn a_text_that_is_too_long_loses_its_last_clauses_and_then_its_last_words() {
        let text = "it runs, because the own plan is wrong: y by 1.0 (2 are NaN) (compared in 0.10 s)";
        assert_eq!(wrapped_within(text, 200, 1), [text]);
        assert_eq!(wrapped_within(text, 62, 1), ["it runs, because the own plan is wrong: y by 1.0 (2 are NaN)"]);
        assert_eq!(wrapped_within(text, 30, 2), ["it runs, because the own plan", "is wrong: y by 1.0 (2 are NaN)"]);
        assert_eq!(wrapped_within(text, 20, 1), ["it runs"]);
        assert_eq!(wrapped_within("one two three four", 9, 1), ["one two …"]);
        assert_eq!(wrapped_within("one two three four", 12, 1), ["one two …"]);
        assert_eq!(wrapped_within("one two three four", 8, 1), ["one …"]);
        assert_eq!(wrapped_within("; one two three", 5, 1), ["; …"], "a first clause of nothing is not what is left");
    }
}
