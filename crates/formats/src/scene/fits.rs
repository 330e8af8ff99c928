//! Checks that a scene fits its drive and devices, by laying out all its files. Since that takes milliseconds, and the cells of
//! a study mostly differ in other figures, layouts that fit are cached in the process.

use seekwise_model::files::scene::{SceneError, SceneLayout};

use crate::kept::RecentCache;

/// The last layouts that fit. The built-in study with the most scenes has 78; each takes some hundred bytes.
static FITS: RecentCache<SceneLayout> = RecentCache::new(128);

#[cfg(test)]
std::thread_local! {
    /// How many layouts were tried in this thread.
    pub(super) static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Checks a layout; only those that fit are cached.
pub(super) fn check(layout: &SceneLayout) -> Result<(), SceneError> {
    if FITS.find(|it| it == layout, |_| ()).is_none() {
        #[cfg(test)]
        TRIED.with(|tried| tried.set(tried.get() + 1));
        layout.check_fit()?;
        FITS.add(layout.clone());
    }
    Ok(())
}
