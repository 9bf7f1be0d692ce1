//! A C file that is compiled, linked with libraries of abi/, and loaded, for benchmarks of several crates.

use std::ffi::{CStr, CString, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A C file, compiled as a shared library and loaded.
pub struct Linked(*mut c_void);

impl Linked {
    /// Links the libraries of crates, each given by its directory and package, from the archives that cargo built with this program.
    /// Compiles `source` against them, and loads it.
    pub fn build(into: &Path, crates: &[(&Path, &str)], include: &[PathBuf], source: &Path, link: &[&str]) -> Self {
        for (root, package) in crates {
            let mut command = Command::new(root.join("../../scripts/link-library"));
            let name = root.canonicalize().expect("a crate").file_name().expect("a name").to_owned();
            succeeds(command.arg(name).arg(newest(package)).arg(into));
        }
        let made = into.join("caller.so");
        let mut compile = Command::new("cc");
        compile.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
        for directory in include {
            compile.arg("-I").arg(directory);
        }
        compile.arg(source).arg("-o").arg(&made).arg("-L").arg(into).args(link);
        succeeds(compile.arg(format!("-Wl,-rpath,{}", into.display())));
        let name = CString::new(made.to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: the library was just made. Global, as it is in a program that is linked with the libraries.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!library.is_null(), "it can be loaded");
        Self(library)
    }

    /// Returns a function of the file.
    pub fn function<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: the library is loaded.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null() && size_of::<F>() == size_of::<*mut c_void>(), "the file has {name:?}");
        // SAFETY: the caller names the type that the file declares the function with.
        unsafe { std::mem::transmute_copy(&symbol) }
    }
}

/// Returns the newest archive of a package beside this program.
fn newest(package: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let files = fs::read_dir(program.parent().expect("a directory")).expect("its files").flatten();
    let start = format!("lib{}-", package.replace('-', "_"));
    let is_archive = |file: &str| file.starts_with(&start) && file.ends_with(".a");
    let archives = files.filter(|file| file.file_name().to_str().is_some_and(is_archive));
    archives.max_by_key(|file| file.metadata().and_then(|meta| meta.modified()).ok()).expect("an archive").path()
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("the command can be started");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
