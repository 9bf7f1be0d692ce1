//! Reads right JSON in one pass: where an object ends, and what its members are.
//!
//! Of most events only a few members are needed, so nothing is made of the others.

/// The deepest value: a bit of a word for each object or array around it.
const DEEPEST: usize = 128;

/// How many objects deep members are kept: those of an event, and those of its arguments.
const KEPT: usize = 2;

/// A member of an object, by the places of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// 1 for those of the outermost object.
    depth: usize,
    /// The name, without its quotes.
    name: (usize, usize),
    value: (usize, usize),
}

/// An object of right JSON, or one in it, with its members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    /// The text of the outermost object.
    whole: &'a str,
    /// Those in this object, and those in objects in it.
    members: &'a [Member],
    depth: usize,
    /// Where it begins and ends.
    place: (usize, usize),
}

/// Returns the object at the beginning of these bytes, whose members are put into `members`. `None` if the bytes end in
/// it, or it is no right JSON.
pub(super) fn object<'a>(bytes: &'a [u8], members: &mut Vec<Member>) -> Option<&'a str> {
    members.clear();
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let end = Scan { bytes, at: 0, members }.value()?;
    std::str::from_utf8(&bytes[..end]).ok()
}

impl<'a> Object<'a> {
    /// Returns the object in a text that [`object`] has read.
    pub fn new(whole: &'a str, members: &'a [Member]) -> Self {
        Self { whole, members, depth: 1, place: (0, whole.len()) }
    }

    /// Returns its text.
    pub fn text(&self) -> &'a str {
        self.part(self.place)
    }

    /// Returns the names of its members, in which escapes are left as they are, with their values.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Self)> {
        let Self { whole, members, depth, .. } = self;
        let own = members.iter().enumerate().filter(move |(_, member)| member.depth == depth);
        own.map(move |(place, member)| {
            let inside = members[place + 1..].iter().take_while(|inside| inside.depth > depth).count();
            let members = &members[place + 1..place + 1 + inside];
            let value = Self { whole, members, depth: depth + 1, place: member.value };
            (value.part(member.name), value)
        })
    }

    fn part(&self, (start, end): (usize, usize)) -> &'a str {
        self.whole.get(start..end).unwrap_or_default()
    }
}

/// A place in a text.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    members: &'a mut Vec<Member>,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes spaces. Returns the byte behind them, without taking it.
    #[inline]
    fn spaces(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                other => return Some(other),
            }
        }
    }

    /// Takes a value. Returns where it ends; `None` if it is no right JSON, or the bytes end in it.
    fn value(&mut self) -> Option<usize> {
        // Which of the values around are objects, the innermost in the lowest bit.
        let (mut objects, mut depth) = (0u128, 0);
        // The last member of each object whose members are kept.
        let mut last = [0; KEPT + 1];
        loop {
            match self.spaces()? {
                open @ (b'{' | b'[') => {
                    if depth == DEEPEST {
                        return None;
                    }
                    let is_object = open == b'{';
                    (objects, depth) = (objects << 1 | u128::from(is_object), depth + 1);
                    self.at += 1;
                    let next = self.spaces()?;
                    if next != if is_object { b'}' } else { b']' } {
                        if is_object {
                            self.name(depth, &mut last)?;
                        }
                        continue;
                    }
                    self.at += 1;
                    (objects, depth) = (objects >> 1, depth - 1);
                }
                b'"' => self.text()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return None,
            }
            // What follows: the next value of the array or object around, or its end.
            loop {
                if depth == 0 {
                    return Some(self.at);
                }
                let is_object = objects & 1 == 1;
                if is_object && depth <= KEPT {
                    self.members[last[depth]].value.1 = self.at;
                }
                match (self.spaces()?, is_object) {
                    (b',', _) => {
                        self.at += 1;
                        if is_object {
                            self.spaces()?;
                            self.name(depth, &mut last)?;
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        (objects, depth) = (objects >> 1, depth - 1);
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Takes the name of a member, the colon and spaces.
    #[inline]
    fn name(&mut self, depth: usize, last: &mut [usize; KEPT + 1]) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        self.text()?;
        let name = (start, self.at - 1);
        if self.spaces()? != b':' {
            return None;
        }
        self.at += 1;
        self.spaces()?;
        if depth <= KEPT {
            last[depth] = self.members.len();
            self.members.push(Member { depth, name, value: (self.at, self.at) });
        }
        Some(())
    }

    /// Takes a text in quotes.
    #[inline]
    fn text(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += plain(self.bytes.get(self.at..)?);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    let digits = match self.bytes.get(self.at + 1)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 0,
                        b'u' => 4,
                        _ => return None,
                    };
                    let escaped = self.bytes.get(self.at + 2..self.at + 2 + digits)?;
                    if !escaped.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.at += 2 + digits;
                }
                // A control character.
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.peek()? == b'-');
        let whole = self.digits();
        if whole == 0 || (whole > 1 && self.bytes[self.at - whole] == b'0') {
            return None;
        }
        if self.peek()? == b'.' {
            self.at += 1;
            (self.digits() > 0).then_some(())?;
        }
        if matches!(self.peek()?, b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek()?, b'+' | b'-'));
            (self.digits() > 0).then_some(())?;
        }
        Some(())
    }

    /// Takes digits. Returns how many there were.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }
}

/// Returns how many bytes come before the first quote, backslash or control character.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let mut words = bytes.chunks_exact(8);
    let mut at = 0;
    for word in &mut words {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        // The highest bit of each byte that is below `than`. Behind the first one, others may have it, too.
        let below = |word: u64, than: u8| word.wrapping_sub(ONES * u64::from(than)) & !word & HIGH;
        let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let special = below(word, 0x20) | equal(b'"') | equal(b'\\');
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + words.remainder().iter().position(is_special).unwrap_or(words.remainder().len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    /// What `serde_json` says of the same: whether these bytes begin with a right object, and how long it is.
    fn judged(bytes: &[u8]) -> Option<usize> {
        let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        (bytes[0] == b'{').then(|| values.byte_offset())
    }

    fn end(text: &str) -> Option<usize> {
        object(text.as_bytes(), &mut Vec::new()).map(str::len)
    }

    #[test]
    fn an_object_ends_behind_its_last_brace() {
        for (text, expected) in [
            ("{}", Some(2)),
            ("{ } ,", Some(3)),
            (r#"{"a": [1, -0.5e+3, {"b": null}, [], true, false], "c\u00e9": "}\\\"{"}, {"#, Some(70)),
            (r#"{"a": 1"#, None),
            (r#"{"a": "x"#, None),
            (r#"{"a" 1}"#, None),
            (r#"{"a": 1,}"#, None),
            (r#"{"a": 01}"#, None),
            (r#"{"a": 1.}"#, None),
            (r#"{"a": -}"#, None),
            (r#"{"a": 1e}"#, None),
            (r#"{"a": tru}"#, None),
            (r#"{"a": [1}"#, None),
            (r#"{"a": "\x"}"#, None),
            (r#"{"a": "\u00g0"}"#, None),
            ("{\"a\": \"a\u{1}\"}", None),
            ("{\"a\": \"123456789\n\"}", None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(end(text), expected, "{text}");
            assert_eq!(judged(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(object(b"{\"a\": \"\xFF\"}", &mut Vec::new()), None);
    }

    #[test]
    fn values_may_be_128_deep() {
        let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert_eq!(end(&nested(128)), Some(nested(128).len()));
        assert_eq!(end(&nested(129)), None);
    }

    #[test]
    fn members_are_the_texts_of_names_and_values() {
        let text = r#"{ "a" : 1.5 ,"b\"":"x\"}", "c": {"d": [1, "]", {"g": 1}] , "h":{"i": {}}},"e":[ ] , "f":null}"#;
        let mut members = Vec::new();
        assert_eq!(object(text.as_bytes(), &mut members), Some(text));
        let texts = |object: Object<'_>| -> Vec<(String, String)> {
            object.members().map(|(name, value)| (name.to_owned(), value.text().to_owned())).collect()
        };
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let found = Object::new(text, &members);
        let of_c = r#"{"d": [1, "]", {"g": 1}] , "h":{"i": {}}}"#;
        assert_eq!(
            texts(found),
            pairs(&[("a", "1.5"), ("b\\\"", r#""x\"}""#), ("c", of_c), ("e", "[ ]"), ("f", "null")])
        );
        let inner = found.members().map(|(_, value)| texts(value));
        let of_c = pairs(&[("d", r#"[1, "]", {"g": 1}]"#), ("h", r#"{"i": {}}"#)]);
        assert_eq!(inner.collect::<Vec<_>>(), [vec![], vec![], of_c, vec![], vec![]]);
    }

    proptest! {
        #[test]
        fn objects_are_those_of_serde(text in r#"[{}\[\]",:\\ 0-9.eE+tfnul-]{0,24}"#) {
            let text = format!("{{\"a\":{text}");
            prop_assert_eq!(end(&text), judged(text.as_bytes()));
        }

        #[test]
        fn members_are_those_of_serde(texts in prop::collection::btree_map("[a-z]{1,3}", "\\PC{0,20}", 0..4)) {
            let value = serde_json::to_value(&texts).unwrap();
            let text = serde_json::to_string_pretty(&value).unwrap();
            let mut members = Vec::new();
            prop_assert_eq!(object(text.as_bytes(), &mut members), Some(text.as_str()));
            let read = |value: Object<'_>| serde_json::from_str(value.text()).unwrap();
            let found = Object::new(&text, &members).members().map(|(name, value)| (name.to_owned(), read(value)));
            prop_assert_eq!(found.collect::<Vec<_>>(), texts.into_iter().collect::<Vec<(String, String)>>());
        }

        #[test]
        fn plain_bytes_are_those_before_the_first_special_one(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x1Eu8..0x24, 0x5Au8..0x5E], 0..40)) {
            let first = bytes.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
            prop_assert_eq!(plain(&bytes), first.unwrap_or(bytes.len()));
        }
    }
}
