//! Parquet's hybrid of run lengths and bit packing, which holds indices into dictionaries and definition levels.

/// Runs of at least this length are written as a count and a value. A block of packed bits holds a multiple of this
/// number.
const GROUP: usize = 8;

/// Returns the number of bits, at least one, of an index into a dictionary with `entries` entries.
pub(crate) fn width_of(entries: usize) -> u8 {
    let largest = entries.saturating_sub(1).max(1);
    (usize::BITS - largest.leading_zeros()) as u8
}

/// Appends values of `width` bits each.
pub(crate) fn encode(values: &[u32], width: u8, into: &mut Vec<u8>) {
    let (mut at, mut packed_from) = (0, 0);
    while at < values.len() {
        let value = values[at];
        let run = values[at..].iter().take_while(|other| **other == value).count();
        if run >= GROUP {
            pack(&values[packed_from..at], width, into);
            varint((run as u64) << 1, into);
            into.extend_from_slice(&value.to_le_bytes()[..usize::from(width.div_ceil(8))]);
            at += run;
            packed_from = at;
        } else {
            at = (at + GROUP).min(values.len());
        }
    }
    pack(&values[packed_from..], width, into);
}

/// Appends a block of packed bits. Only the last block may hold a number of values that is not a multiple of the group.
fn pack(values: &[u32], width: u8, into: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    varint((groups as u64) << 1 | 1, into);
    let end = into.len() + groups * usize::from(width);
    let (mut bits, mut count) = (0u64, 0u32);
    for value in values {
        bits |= u64::from(*value) << count;
        count += u32::from(width);
        if count >= 32 {
            into.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= 32;
            count -= 32;
        }
    }
    into.extend_from_slice(&bits.to_le_bytes()[..count.div_ceil(8) as usize]);
    into.resize(end, 0);
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_values_have_the_bytes_of_the_format() {
        let mut bytes = Vec::new();
        // The example of the format's specification: 0 to 7 in three bits each.
        encode(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut bytes);
        assert_eq!(bytes, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        bytes.clear();
        encode(&[300; 100], 9, &mut bytes);
        assert_eq!(bytes, [0xc8, 0x01, 0x2c, 0x01]);
        bytes.clear();
        encode(&[1, 0, 1], 1, &mut bytes);
        assert_eq!(bytes, [0b11, 0b101]);
        bytes.clear();
        // The sum of value << (9 * place), computed with Python. One value crosses bit 32, and another crosses bit 64.
        encode(&[300, 1, 511, 7, 256, 85, 170, 400], 9, &mut bytes);
        assert_eq!(bytes, [3, 0x2c, 0x03, 0xfc, 0x3f, 0x00, 0xb0, 0x8a, 0x2a, 0xc8]);
        bytes.clear();
        encode(&[0xabcde, 1, 0xfffff, 0, 0x12345], 20, &mut bytes);
        let packed = [0xde, 0xbc, 0x1a, 0x00, 0x00, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x45, 0x23, 0x01];
        assert_eq!((bytes[0], &bytes[1..14], &bytes[14..]), (3, &packed[..], &[0; 7][..]));
    }

    #[test]
    fn an_index_takes_the_bits_of_the_largest_one() {
        assert_eq!([1, 2, 3, 4, 5, 256, 257].map(width_of), [1, 1, 2, 2, 3, 8, 9]);
    }
}
