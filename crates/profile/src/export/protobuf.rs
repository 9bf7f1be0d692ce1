//! The few parts of the protocol buffers' encoding that a trace needs: varints, doubles, and bytes with their length.

/// A message that is being built. Fields are written in the order of the calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;

impl Message {
    /// Returns an unsigned number, an enumerator or a boolean.
    pub(crate) fn uint(&mut self, field: u64, value: u64) -> &mut Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// Returns a double.
    pub(crate) fn double(&mut self, field: u64, value: f64) -> &mut Self {
        self.key(field, FIXED_64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Text or bytes.
    pub(crate) fn text(&mut self, field: u64, value: impl AsRef<[u8]>) -> &mut Self {
        let value = value.as_ref();
        self.key(field, LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// Returns a message.
    pub(crate) fn message(&mut self, field: u64, value: &Message) -> &mut Self {
        self.text(field, &value.bytes)
    }

    /// Returns the fields of another message, as if they were written here.
    pub(crate) fn append(&mut self, fields: &Message) -> &mut Self {
        self.bytes.extend_from_slice(&fields.bytes);
        self
    }

    /// Returns the encoded fields.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn key(&mut self, field: u64, wire_type: u64) {
        self.varint(field << 3 | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_the_specification_shows() {
        // https://protobuf.dev/programming-guides/encoding: 150 in field 1, "testing" in field 2, the first in field 3.
        let mut number = Message::default();
        number.uint(1, 150);
        assert_eq!(number.as_bytes(), [0x08, 0x96, 0x01]);
        let mut text = Message::default();
        text.text(2, "testing");
        assert_eq!(text.as_bytes(), [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let mut nested = Message::default();
        nested.message(3, &number);
        assert_eq!(nested.as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}
