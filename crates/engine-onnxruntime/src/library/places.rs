//! The places where the library may be.

use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use opscope_files::{open_regular, read_text};

use super::{LibraryError, Skipped};

/// The name under which the linker knows the library.
const SONAME: &str = "libonnxruntime.so.1";

/// More bytes than any of Python's settings has.
const LARGEST_TEXT: u64 = 64 << 10;

/// The usual names of a project's virtual environments.
const HERE: &str = "in ./venv and ./.venv";

/// The library's file.
#[derive(Debug)]
pub(crate) struct FoundLibrary {
    pub path: PathBuf,
    /// The libraries before it that this processor cannot run.
    pub skipped: Vec<Skipped>,
}

/// The inputs of the search, so that tests can set them.
pub(crate) struct Surroundings {
    /// `--engine-library`.
    pub explicit: Option<PathBuf>,
    /// `ORT_DYLIB_PATH`.
    pub variable: Option<PathBuf>,
    /// The directory of the running program.
    pub program: Option<PathBuf>,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<PathBuf>,
    /// The working directory.
    pub here: Option<PathBuf>,
    /// The directories of `PATH`.
    pub path: Vec<PathBuf>,
    /// The directories that the linker searches, as far as they are known.
    pub linker: Vec<PathBuf>,
}

impl Surroundings {
    /// Returns the surroundings of this process.
    pub fn of_process(explicit: Option<&Path>) -> Self {
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let split = |name: &str| env::var_os(name).map(|value| env::split_paths(&value).collect::<Vec<_>>());
        let of_processor = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
        let system = ["/lib", "/usr/lib", "/usr/local/lib", &of_processor];
        let mut linker = split("LD_LIBRARY_PATH").unwrap_or_default();
        linker.extend(system.map(PathBuf::from));
        Self {
            explicit: explicit.map(Path::to_owned),
            variable: path("ORT_DYLIB_PATH"),
            program: env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned())),
            virtual_env: path("VIRTUAL_ENV"),
            here: env::current_dir().ok(),
            path: split("PATH").unwrap_or_default(),
            linker,
        }
    }

    /// Returns the first library in the order of the places. A library for another processor is skipped.
    pub fn find(&self) -> Result<FoundLibrary, LibraryError> {
        let mut not_set = Vec::new();
        for (what, named) in [("--engine-library", &self.explicit), ("ORT_DYLIB_PATH", &self.variable)] {
            let found = |path: PathBuf| Ok(FoundLibrary { path, skipped: Vec::new() });
            match named {
                // A directory is accepted for the convenience of users who unpacked an archive.
                Some(path) if path.is_dir() => match library_in(path) {
                    Some(path) => return found(path),
                    None => return Err(LibraryError::NoSuchFile { what, path: path.join("libonnxruntime.so") }),
                },
                Some(path) if path.is_file() => return found(path.clone()),
                Some(path) => return Err(LibraryError::NoSuchFile { what, path: path.clone() }),
                None => not_set.push(what),
            }
        }
        if self.virtual_env.is_none() {
            not_set.push("VIRTUAL_ENV");
        }
        let program = self.program.iter().cloned().map(|place| ("beside the program", place));
        let python = self.site_packages().into_iter().map(|(what, place)| (what, place.join("onnxruntime/capi")));
        let linker = self.linker.iter().filter(|place| place.is_dir()).cloned();
        let linker = linker.map(|place| ("in the linker's directories", place));
        let (mut looked, mut skipped) = (Vec::new(), Vec::new());
        for (what, place) in program.chain(python).chain(linker) {
            match library_in(&place).map(|path| (processor_of(&path), path)) {
                Some((Some(processor), path)) => skipped.push(Skipped { path, processor }),
                Some((None, path)) => return Ok(FoundLibrary { path, skipped }),
                None => looked.push((what, place)),
            }
        }
        if let Some(here) = self.here.as_ref().filter(|_| looked.iter().all(|(what, _)| *what != HERE)) {
            looked.push((HERE, here.clone()));
        }
        Err(LibraryError::NotFound { looked, not_set, skipped })
    }

    /// Returns the `site-packages` of the Python environments that a user is likely to install into. Does not start
    /// Python.
    fn site_packages(&self) -> Vec<(&'static str, PathBuf)> {
        let active = self.virtual_env.iter().map(|root| ("in the active virtual environment", root.clone()));
        let here = self.here.iter().flat_map(|here| ["venv", ".venv"].map(|name| here.join(name)));
        let here = here.map(|root| (HERE, root));
        // The first `python3` on the path, with its links resolved.
        let python = self.path.iter().map(|directory| directory.join("python3")).find(|python| python.is_file());
        let real = python.as_deref().and_then(|python| fs::canonicalize(python).ok());
        let roots = python.into_iter().chain(real).filter_map(|python| Some(python.parent()?.parent()?.to_owned()));
        let shim = pyenv_root(&self.path).map(|root| ("in the packages of pyenv", root));
        let mut found: Vec<(&'static str, PathBuf)> = Vec::new();
        for (what, root) in active.chain(here).chain(roots.map(|root| ("in the packages of python3", root))).chain(shim)
        {
            for place in packages_under(&root) {
                if !found.iter().any(|(_, other)| *other == place) {
                    found.push((what, place));
                }
            }
        }
        found
    }
}

/// Returns the `site-packages` of a Python installation; also those of the installation that a virtual environment is
/// based on, if its configuration includes them.
fn packages_under(root: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for library in ["lib", "lib64"] {
        let versions = fs::read_dir(root.join(library)).into_iter().flatten().flatten();
        let is_python = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("python3");
        let mut found: Vec<PathBuf> = versions.filter(is_python).map(|entry| entry.path()).collect();
        // The newest first. As texts, 3.9 would be newer than 3.11.
        found.sort_by_key(|path| std::cmp::Reverse(minor_version(path)));
        for python in found {
            places.extend(
                ["site-packages", "dist-packages"]
                    .map(|name| python.join(name))
                    .into_iter()
                    .filter(|place| place.is_dir()),
            );
        }
    }
    let debian = root.join("lib/python3/dist-packages");
    if debian.is_dir() && !places.contains(&debian) {
        places.push(debian);
    }
    if let Ok(config) = read_text(&root.join("pyvenv.cfg"), LARGEST_TEXT)
        && setting(&config, "include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        && let Some(base) = setting(&config, "home").and_then(|home| Path::new(home).parent().map(Path::to_owned))
        && base != root
    {
        places.extend(packages_under(&base));
    }
    places
}

fn minor_version(path: &Path) -> u32 {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.trim_start_matches("python3").trim_start_matches('.').parse().unwrap_or(0)
}

/// Returns a setting of `pyvenv.cfg`, whose lines are `key = value`.
fn setting<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    config
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

/// Returns the version of Python that pyenv's shims start, if `python3` on the path is a shim: that is a script, not a
/// link.
fn pyenv_root(path: &[PathBuf]) -> Option<PathBuf> {
    let shims = path.iter().find(|directory| directory.join("python3").is_file())?;
    let root = shims.parent().filter(|_| shims.ends_with("shims"))?;
    let version = read_text(&root.join("version"), LARGEST_TEXT).ok()?;
    Some(root.join("versions").join(version.lines().next()?.trim()))
}

/// Returns the library in a directory: the plain name, or the one with the highest version.
fn library_in(directory: &Path) -> Option<PathBuf> {
    let names = ["libonnxruntime.so", SONAME].map(|name| directory.join(name));
    if let Some(found) = names.into_iter().find(|path| path.is_file()) {
        return Some(found);
    }
    let entries = fs::read_dir(directory).ok()?.flatten();
    let versioned = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("libonnxruntime.so.")?;
        let numbers: Vec<u32> = version.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        Some((numbers, entry.path()))
    });
    versioned.max().map(|(_, path)| path)
}

/// Returns the processor that a library was built for, if it is not this one. A file that is not a library is left to
/// the loader, which reports why.
fn processor_of(path: &Path) -> Option<String> {
    let mut head = [0; 20];
    open_regular(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    let machine = u16::from_le_bytes([head[18], head[19]]);
    (head.starts_with(b"\x7fELF") && machine != OWN_MACHINE).then(|| {
        let known = MACHINES.iter().find(|(number, _)| *number == machine);
        known.map_or_else(|| format!("processor {machine} of ELF's list"), |(_, name)| (*name).to_owned())
    })
}

/// Processors by their number `e_machine` in the header of a library (System V ABI, chapter 4).
const MACHINES: [(u16, &str); 7] =
    [(3, "x86"), (21, "powerpc64"), (22, "s390x"), (40, "arm"), (62, "x86_64"), (183, "aarch64"), (243, "riscv")];

/// The number of the processor that this program was built for.
const OWN_MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an empty file and its directories.
    fn file(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("it can be made");
        fs::write(path, "").expect("it can be written");
        path.to_owned()
    }

    fn nowhere() -> Surroundings {
        Surroundings {
            explicit: None,
            variable: None,
            program: None,
            virtual_env: None,
            here: None,
            path: vec![],
            linker: vec![],
        }
    }

    #[test]
    fn each_place_comes_before_those_behind_it() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path();
        let capi = "lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1";
        file(&root.join("system/bin/python3"));
        let mut places = Surroundings {
            explicit: Some(file(&root.join("given.so"))),
            variable: Some(file(&root.join("named.so"))),
            program: Some(root.join("program")),
            virtual_env: Some(root.join("venv")),
            here: Some(root.join("here")),
            path: vec![root.join("empty"), root.join("system/bin")],
            linker: vec![root.join("linker")],
        };
        let program = file(&root.join("program/libonnxruntime.so"));
        let (venv, system) = (file(&root.join("venv").join(capi)), file(&root.join("system").join(capi)));
        let (here, hidden) = (file(&root.join("here/venv").join(capi)), file(&root.join("here/.venv").join(capi)));
        let linker = file(&root.join("linker/libonnxruntime.so.1"));
        let found = |places: &Surroundings| places.find().expect("there is one").path;
        assert_eq!(found(&places), root.join("given.so"));
        places.explicit = None;
        assert_eq!(found(&places), root.join("named.so"));
        places.variable = None;
        for expected in [program, venv, here, hidden, system, linker] {
            assert_eq!(found(&places), expected);
            fs::remove_file(expected).expect("it was there");
        }
        let error = places.find().expect_err("all are gone").to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 3, "{error}");
        for part in ["program", "venv/lib/python3.11", "here/.venv/lib", "system/lib", "linker"] {
            assert!(lines[0].contains(part), "{part} is not in {error}");
        }
        assert_eq!(lines[1..], ["not set: --engine-library, ORT_DYLIB_PATH", "to get it: pip install onnxruntime"]);
    }

    #[test]
    fn a_library_of_another_processor_is_skipped_and_named() {
        let root = tempfile::tempdir().expect("a directory");
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        let mut head = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\0\0";
        let mut library = |directory: &Path, machine: u16| {
            head[18..].copy_from_slice(&machine.to_le_bytes());
            let path = file(&directory.join("libonnxruntime.so"));
            fs::write(&path, head).expect("it can be written");
            path
        };
        let (foreign, own) = (library(&first, 243), library(&second, OWN_MACHINE));
        let both = Surroundings { linker: vec![first.clone(), second], ..nowhere() };
        let found = both.find().expect("the second can be used");
        assert_eq!((found.path, &found.skipped[0].path), (own, &foreign));
        let one = Surroundings { linker: vec![first], ..nowhere() };
        let error = one.find().expect_err("it cannot be used").to_string();
        assert!(error.contains("is for riscv") && error.contains(&foreign.display().to_string()), "{error}");
        assert!(error.contains("not set: --engine-library, ORT_DYLIB_PATH, VIRTUAL_ENV"), "{error}");
    }

    #[test]
    fn a_virtual_environment_may_see_the_packages_of_the_python_that_it_is_made_of() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path();
        let capi = "lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.30.0";
        let base = file(&root.join("base").join(capi));
        let config =
            |sees: bool| format!("home = {}/base/bin\ninclude-system-site-packages = {sees}\n", root.display());
        let places = Surroundings { virtual_env: Some(root.join("venv")), ..nowhere() };
        fs::write(file(&root.join("venv/pyvenv.cfg")), config(true)).expect("it can be written");
        assert_eq!(places.find().expect("the base has it").path, base);
        fs::write(root.join("venv/pyvenv.cfg"), config(false)).expect("it can be written");
        assert!(matches!(places.find(), Err(LibraryError::NotFound { .. })));
    }

    #[test]
    fn of_several_versions_in_a_directory_the_highest_is_taken() {
        let root = tempfile::tempdir().expect("a directory");
        for version in ["1.9.0", "1.31.1", "1.4.2"] {
            file(&root.path().join(format!("libonnxruntime.so.{version}")));
        }
        let places = Surroundings { explicit: Some(root.path().to_owned()), ..nowhere() };
        assert!(places.find().expect("there are three").path.ends_with("libonnxruntime.so.1.31.1"));
    }
}
