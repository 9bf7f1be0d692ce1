//! The names of dump files, and the numbers and names of types.

use std::path::PathBuf;

use opscope_tensor::DType;
use xxhash_rust::xxh3::xxh3_128;

use crate::Origin;

/// The name of a dump file: `<op type>.<op name>.<task>.<stream>.<microseconds>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The operator's type, in the characters that a file name can contain.
    pub op_type: String,
    /// The operator's name, in the characters that a file name can contain. In our files, the iterations of loops
    /// follow it: `Loop_3_Add_0_17`.
    pub op_name: String,
    /// The task. Our files count operators from 1.
    pub task: u64,
    /// The stream in which the run took place; 0 if runs have no stream.
    pub stream: u64,
    /// Microseconds since 1970.
    pub time: u64,
}

impl FileName {
    /// The maximum length of a file name in bytes.
    pub const LONGEST: usize = 255;

    /// Returns the name of the file for a tensor's operator, in this stream and at this time in microseconds since
    /// 1970.
    pub fn new(origin: &Origin, stream: u64, time: u64) -> Self {
        let operator = origin.operator();
        let task = operator.id.index() as u64 + 1;
        let indices: String = origin.iterations().iter().map(|iteration| format!("_{}", iteration.index)).collect();
        let op_name = plain(&operator.name) + &indices;
        Self { op_type: plain(&operator.op_type), op_name, task, stream, time }
    }

    /// Parses a name from the right: time, stream and task are its last three parts. If the part before them is a
    /// number, it is the dump's number, which some devices add.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts: Vec<&str> = name.split('.').collect();
        let mut number = || {
            let digits = parts.pop()?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten()
        };
        let (time, stream, task) = (number()?, number()?, number()?);
        if parts.len() > 2 && parts[2..].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit())) {
            parts.truncate(2);
        }
        let [op_type, op_name] = parts[..] else { return None };
        (!op_type.is_empty() && !op_name.is_empty()).then(|| Self {
            op_type: op_type.into(),
            op_name: op_name.into(),
            task,
            stream,
            time,
        })
    }

    /// Returns the full name, which may be longer than a file system allows.
    pub fn full(&self) -> String {
        let Self { op_type, op_name, task, stream, time } = self;
        format!("{op_type}.{op_name}.{task}.{stream}.{time}")
    }

    /// Returns the name of the file. If the full name is too long, this is [`digits`](Self::digits), and the name has
    /// to be listed in `mapping.csv`.
    pub fn on_disk(&self) -> String {
        let full = self.full();
        if full.len() <= Self::LONGEST { full } else { self.digits() }
    }

    /// Returns 32 digits that are derived from the full name.
    pub fn digits(&self) -> String {
        format!("{:032}", xxh3_128(self.full().as_bytes()) % 10u128.pow(32))
    }
}

/// Returns the directory of a tensor's file in the dump: `<device>/<model name>/<model id>/<data index>`. Tensors that
/// are the same in every run lie with those of the first run.
pub fn directory(origin: &Origin) -> PathBuf {
    let name = match plain(&origin.graph.name) {
        name if name.is_empty() => "model".into(),
        name => name.chars().take(FileName::LONGEST).collect::<String>(),
    };
    let run = origin.run.map_or(0, |run| run.0);
    PathBuf::from("0").join(name).join((origin.plan + 1).to_string()).join(run.to_string())
}

/// AscendCL replaces space, dot and slashes by `_`; its tools take only ASCII letters, digits, `_` and `-`.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// Element types by their number in a dump file's header. (These are not the numbers of `aclDataType`.)
const TABLE: &[(DType, i32)] = &[
    (DType::F32, 1),
    (DType::F16, 2),
    (DType::I8, 3),
    (DType::U8, 4),
    (DType::I16, 5),
    (DType::U16, 6),
    (DType::I32, 7),
    (DType::I64, 8),
    (DType::U32, 9),
    (DType::U64, 10),
    (DType::Bool, 11),
    (DType::F64, 12),
    (DType::String, 13),
    (DType::Complex64, 16),
    (DType::Complex128, 17),
    (DType::Bf16, 27),
    (DType::I4, 28),
    (DType::F8E5M2, 34),
    (DType::F8E4M3Fn, 35),
    (DType::F4E2M1, 39),
];

/// Returns the number of a type; 0 (undefined) for types that the format does not know.
pub fn data_type(dtype: DType) -> i32 {
    TABLE.iter().find(|row| row.0 == dtype).map_or(0, |row| row.1)
}

/// Returns the type with a number; `None` for unknown numbers.
pub fn dtype(data_type: i32) -> Option<DType> {
    TABLE.iter().find(|row| row.1 == data_type).map(|row| row.0)
}

/// Returns a type's name in AscendCL's tables, such as `DT_FLOAT`.
pub fn data_type_name(dtype: DType) -> String {
    match dtype {
        DType::F32 => "DT_FLOAT".into(),
        DType::F64 => "DT_DOUBLE".into(),
        DType::Bf16 => "DT_BF16".into(),
        other => format!("DT_{}", other.name().to_ascii_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_right_with_or_without_a_dump_number() {
        let name = FileName::parse("Conv2D.conv1_relu.3.7.1700000000000000").unwrap();
        assert_eq!(
            (name.op_type.as_str(), name.op_name.as_str(), name.task, name.stream),
            ("Conv2D", "conv1_relu", 3, 7)
        );
        assert_eq!(FileName::parse("Conv2D.conv1.12.3.7.1700000000000000").unwrap().op_name, "conv1");
        for wrong in ["", "a.b", "a.b.c.d.e", "a.b.1.2.x", ".b.1.2.3", "manifest.json", "a.1.2.3"] {
            assert_eq!(FileName::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_that_is_too_long_becomes_digits() {
        let name = FileName { op_type: "Add".into(), op_name: "x".repeat(300), task: 1, stream: 0, time: 5 };
        assert!(name.on_disk().len() == 32 && name.on_disk().bytes().all(|byte| byte.is_ascii_digit()));
        assert_ne!(name.on_disk(), FileName { time: 6, ..name }.on_disk());
    }
}
