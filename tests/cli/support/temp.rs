//! A directory of a test's own.

use std::path::{Path, PathBuf};

/// A new directory, gone with the test.
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes it.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mock5g-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
