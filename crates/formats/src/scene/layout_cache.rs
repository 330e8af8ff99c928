//! A cache of layouts that fit. The cells of a study lay out few scenes, so the caller that prepares several cells owns a cache
//! and passes it on. Results do not depend on it.

use seekwise_work::files::scene::SceneLayout;

use seekwise_drives::recent_cache::RecentCache;

/// The most recently used layouts. Threads may share them.
pub struct LayoutCache(RecentCache<SceneLayout>);

/// The number of cached layouts: the built-in study with the most scenes has 78. Each takes some hundred bytes.
const LAYOUTS: usize = 128;

impl Default for LayoutCache {
    /// An empty cache.
    fn default() -> LayoutCache {
        LayoutCache(RecentCache::new(LAYOUTS))
    }
}

impl LayoutCache {
    /// True if the layout is known to fit.
    pub(super) fn contains(&self, layout: &SceneLayout) -> bool {
        self.0.find_and_touch(|known| known == layout, |_| ()).is_some()
    }

    /// Adds a layout that fits.
    pub(super) fn add(&self, layout: SceneLayout) {
        self.0.add(layout);
    }
}
