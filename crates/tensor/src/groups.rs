/// How many places are read in turn. A processor fetches each of them ahead, so that memory gives up to half as much
/// again as when it is read from one end to the other. More places bring nothing.
const PLACES: usize = 4;

/// The number of bytes that are best looked at together: a page for each place, which still fits into the first-level
/// cache, so that they can be read again.
pub(crate) const STEP: usize = PLACES * (4 << 10);

/// Shows all elements once, in groups of as many as fill a few vectors, and returns the rest, which is no whole group.
/// The groups are not in the order of memory.
#[inline(always)]
pub(crate) fn each_group<T, const LANES: usize>(elements: &[T], mut visit: impl FnMut(&[T; LANES])) -> &[T] {
    let (groups, rest) = elements.as_chunks::<LANES>();
    let length = groups.len() / PLACES;
    let (first, others) = groups.split_at(length);
    let (second, others) = others.split_at(length);
    let (third, others) = others.split_at(length);
    let (fourth, left) = others.split_at(length);
    for (((first, second), third), fourth) in first.iter().zip(second).zip(third).zip(fourth) {
        visit(first);
        visit(second);
        visit(third);
        visit(fourth);
    }
    left.iter().for_each(visit);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_shown_once_or_is_in_the_rest() {
        for length in [0, 1, 7, 8, 31, 32, 33, 64, 100, 1027] {
            let elements: Vec<usize> = (0..length).collect();
            let mut seen = Vec::new();
            let rest = each_group::<_, 8>(&elements, |group| seen.extend_from_slice(group));
            assert_eq!(rest.len(), length % 8);
            seen.extend_from_slice(rest);
            seen.sort_unstable();
            assert_eq!(seen, elements);
        }
    }
}
