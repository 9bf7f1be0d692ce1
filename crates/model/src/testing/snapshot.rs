/// Compares a file's bytes with those that are stored under its name in the crate's `snapshots/`. Even in text, line
/// ends and blanks must be identical. `INSTA_UPDATE=always` stores the new bytes.
///
/// A crate that uses it needs `insta` among its dev-dependencies.
#[macro_export]
macro_rules! assert_snapshot {
    ($name:expr, $found:expr) => {{
        let (name, found): (&str, Vec<u8>) = ($name, $found);
        // The extension is part of the snapshot's name, so `timeline.json` and `timeline.pftrace` are different ones.
        let (stem, extension) = name.split_once('.').expect("a file's name");
        let name = format!("{stem}_{extension}.{extension}");
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");
        insta::with_settings!(
            { snapshot_path => directory, prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_binary_snapshot!(&name, found) }
        );
    }};
}
