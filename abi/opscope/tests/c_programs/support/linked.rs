//! The libraries of crates of `abi/`, linked from the archives that cargo built with the tests. Other crates use this file, too.

use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Returns the directory of the crate.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the directory of the crate's own libraries, which are linked once for all tests.
pub fn libraries() -> &'static Path {
    static LIBRARIES: OnceLock<PathBuf> = OnceLock::new();
    LIBRARIES.get_or_init(|| link(root(), env!("CARGO_PKG_NAME")))
}

/// Links the libraries of a crate, which is this one or one that its tests depend on. Returns their directory.
pub fn link(root: &Path, package: &str) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{package}"));
    fs::create_dir_all(&output).expect("a directory");
    // Other test processes may do the same at the same time.
    let lock = File::create(output.join(".lock")).expect("a lock");
    lock.lock().expect("the lock");
    let (archive, script) = (archive(package), root.join("../../scripts/link-library"));
    let made = output.join(".made");
    let age = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let mut sources = [archive.clone(), script.clone()].into_iter().chain(descriptions(root));
    if age(&made).is_none() || sources.any(|source| age(&source) > age(&made)) {
        succeeds(Command::new(script).arg(root.file_name().expect("a name")).arg(archive).arg(&output));
        File::create(made).expect("a file");
    }
    output
}

/// Returns the files that describe the crate's library, or each of several, and the sources in C of what is installed beside it.
fn descriptions(root: &Path) -> impl Iterator<Item = PathBuf> {
    let several = fs::read_dir(root.join("libraries")).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = iter::once(root.to_owned()).chain(several);
    let beside = fs::read_dir(root.join("libcuda")).into_iter().flatten().flatten().map(|entry| entry.path());
    places.flat_map(|place| [place.join("library"), place.join("exports.map")]).chain(beside)
}

/// Returns the archive that cargo built along with this test's program: the newest beside it.
fn archive(package: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let files = fs::read_dir(program.parent().expect("a directory")).expect("its files").flatten();
    let start = format!("lib{}-", package.replace('-', "_"));
    let is_archive = |name: &str| name.starts_with(&start) && name.ends_with(".a");
    let archives = files.filter(|file| file.file_name().to_str().is_some_and(is_archive));
    let newest = archives.max_by_key(|file| file.metadata().and_then(|meta| meta.modified()).ok());
    newest.expect("cargo builds the archive with the tests").path()
}

/// Runs a command that must succeed.
pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}\n{}\n{stdout}\n{stderr}", output.status);
    output
}
