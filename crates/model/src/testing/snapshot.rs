/// Compares a file's bytes with those that are kept under its name in the crate's `snapshots/`, also where they are text:
/// no line end and no blank counts as another. `INSTA_UPDATE=always` keeps what was found.
///
/// A crate that uses it has `insta` among its dev-dependencies.
#[macro_export]
macro_rules! assert_snapshot {
    ($name:expr, $found:expr) => {{
        let (name, found): (&str, Vec<u8>) = ($name, $found);
        // What is before the dot names the snapshot: `timeline.json` and `timeline.pftrace` are two.
        let (stem, extension) = name.split_once('.').expect("a file's name");
        let name = format!("{stem}_{extension}.{extension}");
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");
        insta::with_settings!(
            { snapshot_path => directory, prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_binary_snapshot!(&name, found) }
        );
    }};
}
