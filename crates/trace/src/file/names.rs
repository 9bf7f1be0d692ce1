use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::layout::NAME_HEAD;
use crate::record::name::{names_after, set_on_new_name};
use crate::record::{BufferId, NameId};
use crate::sync::{Mutex, MutexGuard};

/// A file to which every name is appended.
pub(crate) struct Follower {
    buffer: BufferId,
    file: File,
    /// The offset of the next name.
    end: u64,
    /// The last name that is in the file.
    last: NameId,
}

/// The files of all buffers that have one.
static FOLLOWERS: Mutex<Vec<Follower>> = Mutex::new(Vec::new());

/// Writes every name to this file, those that exist now and all later ones.
pub(super) fn follow(buffer: BufferId, file: File, end: u64) -> io::Result<()> {
    let mut follower = Follower { buffer, file, end, last: NameId(0) };
    set_on_new_name(write_new_names);
    let mut followers = lock_followers();
    follower.catch_up()?;
    followers.push(follower);
    Ok(())
}

pub(super) fn unfollow(buffer: BufferId) {
    lock_followers().retain(|follower| follower.buffer != buffer);
}

/// Writes new names to all files. It is called before the number of a new name is returned, so a name is in the file
/// before any record that refers to it.
fn write_new_names() {
    for follower in lock_followers().iter_mut() {
        // A name that cannot be written is missing after a recovery. The records are all there.
        let _ = follower.catch_up();
    }
}

impl Follower {
    /// Writes every name that is not in the file yet.
    fn catch_up(&mut self) -> io::Result<()> {
        names_after(self.last).iter().try_for_each(|(id, text)| self.write(*id, text))
    }

    fn write(&mut self, id: NameId, text: &str) -> io::Result<()> {
        let mut entry = vec![0; (NAME_HEAD + text.len()).next_multiple_of(8)];
        entry[..4].copy_from_slice(&id.0.to_le_bytes());
        entry[4..8].copy_from_slice(&(text.len() as u32).to_le_bytes());
        entry[NAME_HEAD..NAME_HEAD + text.len()].copy_from_slice(text.as_bytes());
        self.file.write_all_at(&entry, self.end)?;
        self.end += entry.len() as u64;
        self.last = id;
        Ok(())
    }
}

/// The locked list of files.
pub(crate) type FollowersLock = MutexGuard<'static, Vec<Follower>>;

pub(crate) fn lock_followers() -> FollowersLock {
    FOLLOWERS.lock()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::{fs, thread};

    use super::*;
    use crate::record::name::intern;

    #[test]
    fn a_name_is_in_the_file_before_any_thread_has_its_number() {
        const TEXT: &str = "a name that two threads intern";
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = Arc::new(directory.path().join("names"));
        let buffer = BufferId(u64::MAX);
        follow(buffer, File::create_new(&*path).expect("a new file"), 0).expect("room");
        let interned = |path: &Arc<std::path::PathBuf>| {
            let path = Arc::clone(path);
            thread::spawn(move || {
                intern(TEXT);
                let bytes = fs::read(&*path).expect("it is there");
                bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes())
            })
        };
        // While this lock is held, no thread can write.
        let followers = lock_followers();
        let first = interned(&path);
        while !names_after(NameId(0)).iter().any(|(_, text)| &**text == TEXT) {
            thread::yield_now();
        }
        let second = interned(&path);
        // This gives the second thread time to return, which would be wrong.
        for _ in 0..10_000 {
            if second.is_finished() {
                break;
            }
            thread::yield_now();
        }
        drop(followers);
        assert!(first.join().expect("no panic") && second.join().expect("no panic"));
        unfollow(buffer);
    }
}
