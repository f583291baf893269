"""What a unit of this paper computes besides its notebook: rationales, parts of speech."""
