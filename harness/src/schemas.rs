//! What the NFs of a process hold messages against, as the configuration says.

use crate::config::{OpenapiSection, SchemaMode};
use sbi::schema::Schemas;
use std::path::Path;

/// The schemas that are wanted, if any are.
///
/// # Errors
///
/// If the directory holds none, or this program was built without the feature `openapi`.
pub fn wanted(section: Option<&OpenapiSection>) -> Result<Option<Schemas>, String> {
    let Some((dir, mode)) = section.and_then(|section| Some((section.dir.as_deref()?, section.mode))) else {
        return Ok(None);
    };
    open(dir, mode.unwrap_or_default() == SchemaMode::Refuse)
        .map(Some)
        .map_err(|e| format!("openapi.dir: {e}"))
}

#[cfg(feature = "openapi")]
fn open(dir: &Path, refuse: bool) -> Result<Schemas, String> {
    let checker = openapi::Checker::open(dir).map_err(|error| error.to_string())?;
    Ok(Schemas::new(std::sync::Arc::new(checker), refuse))
}

#[cfg(not(feature = "openapi"))]
fn open(dir: &Path, _: bool) -> Result<Schemas, String> {
    Err(format!("{}: this mock5g was built without the feature openapi", dir.display()))
}
