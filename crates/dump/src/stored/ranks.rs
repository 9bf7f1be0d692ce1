//! Dumps of several ranks, and the tensors that are spread over them.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use opscope_tensor::{DType, Tensor};
use opscope_text::counted;
use regex_lite::Regex;

use super::{Location, StoredDump, StoredTensor};
use crate::INDEX;

/// Which tensors of ranks are parts of one, and how they are joined: `qkv_proj:dim=-1`, or `o_proj/aten.mm:sum`.
#[derive(Debug, Clone)]
pub struct Shards {
    pattern: Regex,
    how: Joining,
}

#[derive(Debug, Clone, Copy)]
enum Joining {
    /// The parts follow each other in this dimension; a negative number counts from the last dimension.
    Dim(i64),
    /// Each rank has an addend.
    Sum,
}

/// The error for a text that does not say how shards are joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the shards '{text}' are wrong: {reason}; write MODULE:dim=N or MODULE/OPERATOR:sum, such as qkv_proj:dim=-1")]
pub struct WrongShards {
    text: String,
    reason: String,
}

impl FromStr for Shards {
    type Err = WrongShards;

    fn from_str(text: &str) -> Result<Self, WrongShards> {
        let wrong = |reason: &str| WrongShards { text: text.to_owned(), reason: reason.to_owned() };
        let (pattern, how) = match (text.strip_suffix(":sum"), text.rsplit_once(":dim=")) {
            (Some(pattern), _) => (pattern, Joining::Sum),
            (None, Some((pattern, dim))) => {
                (pattern, Joining::Dim(dim.parse().map_err(|_| wrong("the dimension is not a whole number"))?))
            }
            (None, None) => return Err(wrong("they have neither ':dim=' nor ':sum'")),
        };
        // The pattern matches the last parts of a module's path and, after a `/`, an operator.
        let end = if pattern.contains('/') { r"(?:$|[/@#.])" } else { "(?:$|[/@#])" };
        let pattern = Regex::new(&format!(r"(?:^|\.)(?:{pattern}){end}"));
        Ok(Self { pattern: pattern.map_err(|error| wrong(&error.to_string()))?, how })
    }
}

impl Shards {
    /// Joins the parts of an output of an operator; `None` if this rule does not apply to it.
    fn join(&self, first: &StoredTensor, others: &[&StoredTensor]) -> Option<io::Result<StoredTensor>> {
        if !self.pattern.is_match(first.place.operator.as_deref()?) {
            return None;
        }
        Some(match self.how {
            Joining::Sum => summed(first, others),
            Joining::Dim(dim) => {
                let count = first.shape.len();
                let from_end = if dim < 0 { dim + count as i64 } else { dim };
                match usize::try_from(from_end).ok().filter(|&dim| dim < count) {
                    Some(dim) => joined(first, others, dim),
                    None => Err(io::Error::other(format!("it has no dimension {dim}, its shape is {:?}", first.shape))),
                }
            }
        })
    }
}

/// What a tensor has in common with those of the same place on other ranks: the step and the value.
type Key = (Option<u64>, Option<String>);

impl StoredDump {
    /// Returns the dumps of the ranks in a directory, in their order; empty if it has none, or is a dump itself.
    pub fn ranks(path: &Path) -> Vec<(u64, PathBuf)> {
        if path.join(INDEX).exists() {
            return Vec::new();
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let rank = |name: &str| name.strip_prefix("rank-")?.parse().ok();
        let ranks = entries.filter_map(|entry| Some((rank(entry.file_name().to_str()?)?, entry.path())));
        let mut ranks: Vec<(u64, PathBuf)> = ranks.collect();
        ranks.sort_unstable();
        ranks
    }

    /// Joins the dumps of ranks: tensors of which each rank has a part become one, and those that all have are kept
    /// once. Tensors that differ between the ranks although nothing says how to join them are omitted, and reported as
    /// a problem.
    pub fn joined(path: &Path, ranks: Vec<StoredDump>, shards: &[Shards]) -> Self {
        let mut all = ranks.into_iter();
        let Some(mut first) = all.next() else { return Self::default() };
        let others: Vec<StoredDump> = all.collect();
        first.path = path.to_owned();
        let key = |tensor: &StoredTensor| -> Key { (tensor.place.run, tensor.place.value.clone()) };
        let indices: Vec<HashMap<Key, &StoredTensor>> =
            others.iter().map(|dump| dump.tensors.iter().map(|tensor| (key(tensor), tensor)).collect()).collect();
        let (mut missing, mut differing) = (0, Vec::new());
        let mut tensors = Vec::with_capacity(first.tensors.len());
        for tensor in first.tensors {
            let parts: Option<Vec<&StoredTensor>> =
                indices.iter().map(|rank| rank.get(&key(&tensor)).copied()).collect();
            let Some(parts) = parts else {
                missing += 1;
                continue;
            };
            match shards.iter().find_map(|rule| rule.join(&tensor, &parts)) {
                Some(Ok(whole)) => tensors.push(whole),
                Some(Err(error)) => first.problems.push(format!("{}: {error}", tensor.place.label())),
                None if parts.iter().any(|part| !is_same(&tensor, part)) => differing.push(tensor.place.label()),
                None => tensors.push(tensor),
            }
        }
        first.tensors = tensors;
        if missing > 0 {
            first.problems.push(format!("{} not on all ranks", counted(missing, "tensor")));
        }
        if let Some(label) = differing.first() {
            let count = counted(differing.len(), "tensor");
            first.problems.push(format!(
                "not the same on all ranks and joined by no --shards, so left out: {count}; the first is {label}"
            ));
        }
        first.problems.extend(others.iter().flat_map(|dump| dump.problems.iter().cloned()));
        let incomplete =
            others.iter().filter_map(|dump| Some(format!("{}: {}", dump.path.display(), dump.incomplete()?)));
        first.problems.extend(incomplete);
        first
    }
}

fn is_same(one: &StoredTensor, other: &StoredTensor) -> bool {
    let hash = |tensor: &StoredTensor| tensor.noted.as_ref().map(|noted| noted.xxh3);
    one.shape == other.shape && hash(one) == hash(other)
}

/// Adds up a tensor and those of the other ranks.
fn summed(first: &StoredTensor, others: &[&StoredTensor]) -> io::Result<StoredTensor> {
    let no_sum = || io::Error::other("tensors of these types and shapes cannot be added");
    let dtype = first.dtype.filter(|dtype| dtype.is_float()).ok_or_else(no_sum)?;
    let mut sums = vec![0.0f64; first.elements()?];
    for part in [first].into_iter().chain(others.iter().copied()) {
        let numbers = part.read()?.cast(DType::F64).filter(|_| part.shape == first.shape).ok_or_else(no_sum)?;
        let (numbers, _) = numbers.bytes().as_chunks::<8>();
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += f64::from_le_bytes(*number));
    }
    let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let sum = Tensor::new(DType::F64, first.shape.clone(), bytes).map_err(io::Error::other)?;
    let sum = sum.cast(dtype).ok_or_else(no_sum)?;
    let location = Location::Memory(Arc::from(sum.bytes()));
    Ok(StoredTensor { noted: None, location, ..first.clone() })
}

/// Joins a tensor with its other parts along a dimension.
fn joined(first: &StoredTensor, others: &[&StoredTensor], dim: usize) -> io::Result<StoredTensor> {
    let parts: Vec<&StoredTensor> = [first].into_iter().chain(others.iter().copied()).collect();
    let dtype = first.dtype.ok_or_else(|| io::Error::other("the type of its elements is not known"))?;
    let size = dtype.bytes_of(1).filter(|&size| dtype.bytes_of(2) == Some(2 * size));
    let size = size.ok_or_else(|| io::Error::other(format!("parts of {dtype} cannot be joined")))?;
    let around = |shape: &[usize]| (shape[..dim].to_vec(), shape[dim + 1..].to_vec());
    let is_part = |part: &&StoredTensor| {
        part.dtype == Some(dtype) && part.shape.len() > dim && around(&part.shape) == around(&first.shape)
    };
    if let Some(other) = parts.iter().find(|part| !is_part(part)) {
        let (one, other) = (&first.shape, &other.shape);
        return Err(io::Error::other(format!(
            "parts of the shapes {one:?} and {other:?} cannot be joined in dimension {dim}"
        )));
    }
    let data = parts.iter().map(|part| part.read()).collect::<io::Result<Vec<_>>>()?;
    let rows: usize = first.shape[..dim].iter().product();
    let inner: usize = first.shape[dim + 1..].iter().product::<usize>() * size;
    let mut bytes = Vec::new();
    for row in 0..rows {
        for (part, tensor) in parts.iter().zip(&data) {
            let length = part.shape[dim] * inner;
            bytes.extend_from_slice(&tensor.bytes()[row * length..(row + 1) * length]);
        }
    }
    let mut shape = first.shape.clone();
    shape[dim] = parts.iter().map(|part| part.shape[dim]).sum();
    let length = bytes.len() as u64;
    let location = Location::Memory(Arc::from(bytes));
    Ok(StoredTensor { shape, bytes: length, noted: None, location, ..first.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoredOrigin;

    fn part(operator: &str, shape: &[usize], numbers: &[f32]) -> StoredTensor {
        let place = StoredOrigin {
            operator: Some(operator.to_owned()),
            value: Some(operator.to_owned()),
            ..StoredOrigin::default()
        };
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let tensor = StoredTensor::without_data(place, DType::F32);
        let length = bytes.len() as u64;
        StoredTensor { shape: shape.to_vec(), bytes: length, location: Location::Memory(Arc::from(bytes)), ..tensor }
    }

    fn rank(tensors: Vec<StoredTensor>) -> StoredDump {
        StoredDump { tensors, ..StoredDump::default() }
    }

    #[test]
    fn parts_are_joined_along_the_dimension_that_is_said() {
        let name = "layers.0.qkv_proj/aten.mm.default";
        let ranks =
            vec![rank(vec![part(name, &[2, 1], &[1.0, 3.0])]), rank(vec![part(name, &[2, 2], &[2.0, 2.5, 4.0, 4.5])])];
        let whole = StoredDump::joined(Path::new("set"), ranks.clone(), &["qkv_proj:dim=-1".parse().unwrap()]);
        assert_eq!((whole.problems.len(), &whole.tensors[0].shape), (0, &vec![2, 3]));
        let numbers: Vec<u8> =
            [1.0f32, 2.0, 2.5, 3.0, 4.0, 4.5].iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!(whole.tensors[0].read().unwrap().bytes(), numbers);
        let wrong = StoredDump::joined(Path::new("set"), ranks.clone(), &["qkv_proj:dim=0".parse().unwrap()]);
        assert!(wrong.problems[0].contains("cannot be joined in dimension 0"), "{:?}", wrong.problems);
        let not_said = StoredDump::joined(Path::new("set"), ranks, &["proj:dim=1".parse().unwrap()]);
        assert!(
            not_said.problems[0].contains("left out: 1 tensor; the first is layers.0.qkv_proj"),
            "{:?}",
            not_said.problems
        );
        assert!(not_said.tensors.is_empty());
    }

    #[test]
    fn addends_of_an_operator_are_added_and_what_is_added_already_is_not() {
        let tensors =
            |number| vec![part("down/aten.mm.default", &[1], &[number]), part("down/c10d.allreduce_", &[1], &[5.0])];
        let sum = ["down/aten.mm:sum".parse().unwrap()];
        let whole = StoredDump::joined(Path::new("set"), vec![rank(tensors(2.0)), rank(tensors(3.0))], &sum);
        let numbers: Vec<Tensor> = whole.tensors.iter().map(|tensor| tensor.read().unwrap()).collect();
        assert_eq!(numbers.iter().map(Tensor::bytes).collect::<Vec<_>>(), [5.0f32.to_le_bytes(); 2]);
    }

    #[test]
    fn what_a_rank_lacks_is_counted_and_a_wrong_text_says_what_would_be_right() {
        let ranks = vec![rank(vec![part("a", &[1], &[1.0])]), rank(Vec::new())];
        assert_eq!(StoredDump::joined(Path::new("set"), ranks, &[]).problems, ["1 tensor not on all ranks"]);
        for text in ["qkv", "qkv:dim=x", "(:dim=0"] {
            assert!(text.parse::<Shards>().unwrap_err().to_string().contains("write MODULE:dim=N"), "{text}");
        }
    }

    #[test]
    fn a_joined_tensor_is_as_long_as_its_parts_together() {
        let (one, other) = (part("a", &[1, 2], &[1.0, 2.0]), part("a", &[3, 2], &[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]));
        let whole = joined(&one, &[&other], 0).unwrap();
        // 8 numbers of 4 bytes.
        assert_eq!((whole.shape.as_slice(), whole.bytes), (&[4, 2][..], 32));
    }
}
