//! A disk that is soon full.

use std::path::Path;
use std::process::{Command, Stdio};

/// A small file system in memory, mounted in a directory until this goes.
pub struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts one of so many KiB; none where this process may not, which is said.
    pub fn mount(at: &'a Path, kibibytes: u32) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kibibytes}k"), "tmpfs"]).arg(at);
        let is_mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        if !is_mounted {
            eprintln!("skipped: no file system can be mounted here");
        }
        is_mounted.then_some(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{:?} stays mounted", self.0);
    }
}
