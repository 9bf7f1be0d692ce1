use std::collections::BTreeSet;
use std::fs::{File, read_to_string};
use std::io;
use std::path::Path;

use object::{Object, ObjectSection, ReadCache};

use crate::{Refusal, forbidden};

/// The memory of an interpreter.
pub struct Runtime {
    /// Where it begins.
    pub address: u64,
    /// The version that the name of the interpreter's file has, such as `3.11`.
    pub version: Option<String>,
}

/// A part of a file that is mapped into a process.
struct Mapping<'m> {
    start: u64,
    end: u64,
    /// Where in the file it begins.
    offset: u64,
    path: &'m str,
}

/// Finds the interpreter's memory in the file of a process, or in one of the libraries that it has loaded.
pub fn find(pid: u32) -> Result<Runtime, Refusal> {
    let maps = match read_to_string(format!("/proc/{pid}/maps")) {
        Ok(maps) => maps,
        // Of a process without memory, which has ended, it can be read, and is empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Refusal::NoSuchProcess(pid)),
        Err(error) => return Err(forbidden(pid, error)),
    };
    let mappings: Vec<Mapping<'_>> = maps.lines().filter_map(mapping).collect();
    let named = |mapping: &&Mapping<'_>| {
        let name = Path::new(mapping.path).file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.contains("python"))
    };
    let paths: BTreeSet<&str> = mappings.iter().filter(named).map(|mapping| mapping.path).collect();
    for path in paths {
        let Some((offset, _)) = section(pid, path) else { continue };
        let inside = |mapping: &&Mapping<'_>| {
            mapping.path == path && (mapping.offset..mapping.offset + (mapping.end - mapping.start)).contains(&offset)
        };
        if let Some(mapping) = mappings.iter().find(inside) {
            let address = mapping.start + (offset - mapping.offset);
            return Ok(Runtime { address, version: version_in(path) });
        }
    }
    Err(Refusal::NotPython(pid))
}

/// Returns where the interpreter's memory is in a file, and its length, if the file has one.
fn section(pid: u32, path: &str) -> Option<(u64, u64)> {
    // The process may see other files under the same path.
    let file = File::open(format!("/proc/{pid}/root{path}")).ok()?;
    let cache = ReadCache::new(file);
    let parsed = object::File::parse(&cache).ok()?;
    parsed.section_by_name(".PyRuntime")?.file_range()
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    // start-end permissions offset device inode path
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let offset = words.nth(1)?;
    let path = words.nth(2)?.trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        path: path.trim_end_matches(" (deleted)"),
    })
}

/// Returns the version in a name such as `libpython3.11.so.1.0`.
fn version_in(path: &str) -> Option<String> {
    let rest = &path[path.rfind("python")? + "python".len()..];
    let version: String = rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    let version = version.trim_end_matches('.');
    version.contains('.').then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_map_is_read_with_a_path_that_has_spaces() {
        let line = "7f0b38c00000-7f0b38c28000 rw-p 00028000 fe:00 1054 /opt/my python/libpython3.14.so.1.0 (deleted)";
        let Some(mapping) = mapping(line) else { panic!("it is a mapping of a file") };
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f0b_38c0_0000, 0x7f0b_38c2_8000, 0x28000));
        assert_eq!(mapping.path, "/opt/my python/libpython3.14.so.1.0");
        assert!(super::mapping("7f0b38c00000-7f0b38c28000 rw-p 00000000 00:00 0 ").is_none(), "it has no file");
        assert!(super::mapping("7ffc913a0000-7ffc913c1000 rw-p 00000000 00:00 0          [stack]").is_none());
    }

    #[test]
    fn the_version_is_in_the_name_of_the_file() {
        for (path, version) in [
            ("/usr/lib/libpython3.11.so.1.0", Some("3.11")),
            ("/usr/bin/python3.14", Some("3.14")),
            ("/home/python/bin/python3", None),
        ] {
            assert_eq!(version_in(path).as_deref(), version, "{path}");
        }
    }

    #[test]
    fn this_process_runs_no_interpreter_and_another_does_not_exist() {
        assert!(matches!(find(std::process::id()), Err(Refusal::NotPython(_))));
        // The largest number that the system can give to a process is 2^22.
        assert!(matches!(find(1 << 23), Err(Refusal::NoSuchProcess(_))));
    }
}
