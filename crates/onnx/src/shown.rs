use std::borrow::Cow;

/// Returns text that comes from a file or another process as it may be shown on a terminal, on one line.
///
/// Control characters, line breaks, characters that turn the direction of the text and other invisible ones become
/// escapes such as `\n` or `\u{1b}`: shown as they are, they could move the cursor, recolour what follows, or make one
/// name look like another.
pub fn shown_text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a character does something other than to be seen: Unicode's categories Cc, Cf, Zl and Zp, and the
/// letters that are drawn as nothing.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}'
            | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_stays_as_it_is() {
        for text in ["", "/conv1/Conv", "größe 中文 نص \\n", "a b", "…"] {
            assert!(matches!(shown_text(text), Cow::Borrowed(shown) if shown == text), "{text}");
        }
    }

    #[test]
    fn what_moves_the_cursor_turns_the_text_or_is_not_seen_becomes_an_escape() {
        for (text, shown) in [
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{9b}1m\u{7f}\0", "\\u{9b}1m\\u{7f}\\u{0}"),
            ("\u{202e}gnp", "\\u{202e}gnp"),
            ("\u{2066}\u{2069}\u{200f}\u{61c}", "\\u{2066}\\u{2069}\\u{200f}\\u{61c}"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
            ("x\u{200b}\u{feff}\u{ad}\u{e0041}\u{3164}", "x\\u{200b}\\u{feff}\\u{ad}\\u{e0041}\\u{3164}"),
        ] {
            assert_eq!(shown_text(text), shown);
        }
    }
}
