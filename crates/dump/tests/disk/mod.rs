//! Small disks, which are soon full.

use std::path::Path;
use std::process::Command;

use opscope_model::testing::skipped;

/// Runs a test in a namespace of its own, in which it may mount disks. This program is started again there with the
/// test of this name. If the system does not allow that, the test is skipped.
pub fn with_disks(name: &str, test: impl FnOnce()) {
    const IS_WITHIN: &str = "OPSCOPE_TEST_MAY_MOUNT";
    const ALONE: [&str; 3] = ["--user", "--map-root-user", "--mount"];
    if std::env::var_os(IS_WITHIN).is_some() {
        return test();
    }
    let can_mount = Command::new("unshare").args(ALONE).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !can_mount.is_ok_and(|mounted| mounted.status.success()) {
        return skipped(format_args!("`unshare {} mount` is not allowed here", ALONE.join(" ")));
    }
    // The full name of the test, if it is part of a module.
    let thread = std::thread::current();
    let name = thread.name().filter(|whole| whole.ends_with(name)).unwrap_or(name);
    let mut within = Command::new("unshare");
    within.args(ALONE).arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    let output = within.env(IS_WITHIN, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// A small file system in memory, which is mounted in a directory until this is dropped.
pub struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts one of this many KiB.
    pub fn mount(at: &'a Path, kibibytes: u32) -> Self {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kibibytes}k"), "tmpfs"]).arg(at);
        assert!(mount.status().unwrap().success(), "{at:?} is mounted");
        Self(at)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{:?} stays mounted", self.0);
    }
}
