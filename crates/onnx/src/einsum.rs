//! The equation of an `Einsum`.

use std::collections::BTreeMap;

/// An equation such as `bij,bjk->bik`: the labels of each operand's axes and of the output's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Equation {
    operands: Vec<Vec<char>>,
    output: Vec<char>,
}

/// The sizes of an equation for operands of given shapes.
pub(crate) struct Sizes {
    /// The shape of the output.
    pub output: Vec<usize>,
    /// The product of the sizes of all labels.
    pub all: Option<u64>,
}

impl Equation {
    /// Returns `None` for an equation with an ellipsis, or an invalid one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text: String = text.chars().filter(|sign| !sign.is_whitespace()).collect();
        let (operands, output) = match text.split_once("->") {
            Some((operands, output)) => (operands, Some(output.chars().collect::<Vec<_>>())),
            None => (text.as_str(), None),
        };
        let operands: Vec<Vec<char>> = operands.split(',').map(|labels| labels.chars().collect()).collect();
        let output = output.unwrap_or_else(|| {
            let mut counts = BTreeMap::new();
            operands.iter().flatten().for_each(|label| *counts.entry(*label).or_insert(0) += 1);
            counts.into_iter().filter(|(_, count)| *count == 1).map(|(label, _)| label).collect()
        });
        let is_plain = operands.iter().flatten().chain(&output).all(|label| label.is_ascii_alphabetic());
        is_plain.then_some(Self { operands, output })
    }

    /// Returns `None` if the shapes do not fit the equation.
    pub(crate) fn sizes(&self, shapes: &[&[usize]]) -> Option<Sizes> {
        let mut sizes: BTreeMap<char, usize> = BTreeMap::new();
        if shapes.len() != self.operands.len() {
            return None;
        }
        for (labels, shape) in self.operands.iter().zip(shapes) {
            if labels.len() != shape.len() {
                return None;
            }
            for (&label, &size) in labels.iter().zip(*shape) {
                let known = sizes.entry(label).or_insert(size);
                match (*known, size) {
                    (known, size) if known == size || size == 1 => {}
                    (1, size) => *known = size,
                    _ => return None,
                }
            }
        }
        let output = self.output.iter().map(|label| sizes.get(label).copied()).collect::<Option<_>>()?;
        let all = sizes.values().try_fold(1u64, |all, &size| all.checked_mul(size as u64));
        Some(Sizes { output, all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the shape of the output, and the product of the sizes of all labels.
    fn sizes(equation: &str, shapes: &[&[usize]]) -> Option<(Vec<usize>, Option<u64>)> {
        Equation::parse(equation)?.sizes(shapes).map(|sizes| (sizes.output, sizes.all))
    }

    #[test]
    fn sizes_follow_from_the_labels() {
        let (a, b): (&[usize], &[usize]) = (&[2, 3], &[3, 4]);
        assert_eq!(sizes("ij,jk->ik", &[a, b]), Some((vec![2, 4], Some(24))));
        assert_eq!(sizes(" i j , jk -> ki ", &[a, b]), Some((vec![4, 2], Some(24))));
        // Without an output in the equation, it has the labels that occur once, in alphabetical order.
        assert_eq!(sizes("zj,ja", &[a, b]), Some((vec![4, 2], Some(24))));
        assert_eq!(sizes("ij,ij->", &[a, a]), Some((vec![], Some(6))));
        assert_eq!(sizes("ii->i", &[&[5, 5]]), Some((vec![5], Some(5))));
        assert_eq!(sizes("ii", &[&[5, 5]]), Some((vec![], Some(5))));
        // A size of 1 fits any other.
        assert_eq!(sizes("ij,ij->ij", &[&[1, 3], &[2, 1]]), Some((vec![2, 3], Some(6))));
        assert_eq!(sizes("ij,ij->ij", &[&[2, 3], &[1, 1]]), Some((vec![2, 3], Some(6))));
        assert_eq!(sizes("i,j->ij", &[&[0], &[7]]), Some((vec![0, 7], Some(0))));
        assert_eq!(sizes("i,j->ij", &[&[usize::MAX], &[2]]), Some((vec![usize::MAX, 2], None)));
    }

    #[test]
    fn what_does_not_fit_has_no_sizes() {
        assert_eq!(sizes("ij,jk->ik", &[&[2, 3], &[4, 4]]), None);
        assert_eq!(sizes("ij,jk->ik", &[&[2, 3]]), None);
        assert_eq!(sizes("ij->i", &[&[2, 3, 4]]), None);
        assert_eq!(sizes("ij->k", &[&[2, 3]]), None);
        assert_eq!(sizes("...ij->ij", &[&[2, 3]]), None);
        assert_eq!(sizes("ij->1", &[&[2, 3]]), None);
    }
}
