/// Returns the path that these names share, up to its last `/` or `.`. It is empty if they share none, or if there are
/// fewer than two names. It is never the whole of a name.
pub fn common_path<'n>(names: &[&'n str]) -> &'n str {
    let [first, others @ ..] = names else { return "" };
    if others.is_empty() {
        return "";
    }
    let same = |name: &&str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let common = others.iter().map(same).min().unwrap_or(0);
    let shortest = names.iter().map(|name| name.len()).min().unwrap_or(0);
    let common = &first.as_bytes()[..common.min(shortest.saturating_sub(1))];
    let end = common.iter().rposition(|byte| b"/.".contains(byte)).map_or(0, |at| at + 1);
    // A separator is one byte, so this is a character boundary.
    first.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::common_path;

    #[test]
    fn the_common_path_ends_with_a_separator_and_leaves_something_of_each_name() {
        for (names, path) in [
            (&["/model/layer1/Conv", "/model/layer2/Relu"][..], "/model/"),
            (&["model.layers.0.a", "model.layers.0.b"], "model.layers.0."),
            (&["/conv1/Conv", "/conv2/Conv"], "/"),
            (&["/a/b/", "/a/b/"], "/a/"),
            (&["/größe/ä", "/größe/ö"], "/größe/"),
            (&["Conv_1", "Conv_2"], ""),
            (&["/only/one"], ""),
            (&[], ""),
        ] {
            assert_eq!(common_path(names), path, "{names:?}");
        }
    }
}
