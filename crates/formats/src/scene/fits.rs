//! Whether a scene fits what it is to run on. All its files are laid out to see that, which takes milliseconds, and the cells of
//! a study mostly differ in other figures: a layout that fits is kept in the process, and is not tried again.

use seekwise_model::files::scene::{SceneError, SceneLayout};

use crate::kept::Kept;

/// The last layouts that fit. The built-in study with the most scenes has 78; each takes some hundred bytes.
static FITS: Kept<SceneLayout> = Kept::new(128);

#[cfg(test)]
std::thread_local! {
    /// How many layouts were tried in this thread.
    pub(super) static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Whether it fits. What does not is not kept.
pub(super) fn check(layout: &SceneLayout) -> Result<(), SceneError> {
    if FITS.find(|it| it == layout, |_| ()).is_none() {
        #[cfg(test)]
        TRIED.with(|tried| tried.set(tried.get() + 1));
        layout.check()?;
        FITS.add(layout.clone());
    }
    Ok(())
}
