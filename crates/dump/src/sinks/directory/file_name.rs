use opscope_model::LoopIteration;
use opscope_text::file_text;
use xxhash_rust::xxh3::xxh3_64;

use crate::Origin;

/// The maximum length of the iterations of loops in a file name, in bytes.
const LONGEST_ITERATIONS: usize = 60;

/// Returns the name of a tensor's file without the extension: `00012-Conv_3.output0`. The operator's number makes it
/// unique in a run, even if names differ only in case. The operator's name is included for readers. In a loop, the
/// iteration follows: `00012-Loop_3_Add_0.17.output0`, or `.17-2.` in a nested loop.
pub(super) fn stem(origin: &Origin) -> String {
    let operator = origin.operator();
    let (name, iterations) = (readable(&operator.name), iterations(&origin.iterations()));
    format!("{:05}-{name}{iterations}.{}{}", operator.id.index(), origin.io, origin.slot)
}

fn iterations(iterations: &[LoopIteration]) -> String {
    let numbers: Vec<String> = iterations.iter().map(|iteration| iteration.index.to_string()).collect();
    match numbers.join("-") {
        none if none.is_empty() => none,
        short if short.len() <= LONGEST_ITERATIONS => format!(".{short}"),
        long => format!(".{}-{:016x}", numbers[0], xxh3_64(long.as_bytes())),
    }
}

/// Returns the directory of a run, or of the tensors that are the same in all runs of a plan.
pub(super) fn directory(origin: &Origin) -> String {
    match (origin.run, origin.plan) {
        (Some(run), _) => format!("run-{:04}", run.0),
        (None, 0) => "constants".into(),
        (None, plan) => format!("constants-{plan}"),
    }
}

/// Returns the part of a name that a file name can contain. Dots are excluded, because they separate the parts that
/// follow.
fn readable(name: &str) -> String {
    file_text(name).replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_in_a_name_is_only_text() {
        assert_eq!(readable("/layer.0/attention/MatMul"), "layer_0_attention_MatMul");
        assert_eq!(readable("../../etc/passwd"), "______etc_passwd");
        assert_eq!(readable("卷积/1"), "卷积_1");
        assert_eq!(readable(""), "");
    }

    #[test]
    fn iterations_are_told_apart_in_a_bounded_length() {
        let on = |indices: &[u32]| {
            let level = |&index: &u32| LoopIteration { operator: "Loop".into(), index };
            iterations(&indices.iter().map(level).collect::<Vec<_>>())
        };
        assert_eq!([on(&[]), on(&[17]), on(&[17, 2])], ["", ".17", ".17-2"]);
        let deep = [on(&[7; 40]), on(&[[7; 39].as_slice(), &[8]].concat())];
        assert!(deep.iter().all(|text| text.starts_with(".7-") && text.len() <= LONGEST_ITERATIONS), "{deep:?}");
        assert_ne!(deep[0], deep[1]);
        // The hash is that of the Python package xxhash.
        assert_eq!(deep[0], ".7-0221bc9027cc9e10");
        // 30 digits and 29 separators are 59 bytes, or 60 with a number of two digits.
        let long = [[7; 29].as_slice(), &[10]].concat();
        assert_eq!((on(&[7; 30]).len(), on(&long).len()), (60, 61), "a dot stands before");
        assert_eq!(on(&[[7; 29].as_slice(), &[100]].concat()).len(), 19);
    }

    proptest! {
        #[test]
        fn no_name_becomes_more_than_one_short_path_component(name in ".*") {
            let readable = readable(&name);
            prop_assert!(readable.len() <= 120);
            prop_assert!(!readable.contains(['/', '\\', '\0', '.', ':']));
        }
    }
}
